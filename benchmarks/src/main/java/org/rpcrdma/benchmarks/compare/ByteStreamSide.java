// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import org.rpcrdma.benchmarks.Transport;

/** A side whose protocol is a byte stream's: the channels of a transport carry its handlers, and nothing else. */
abstract class ByteStreamSide extends NettySide {

    private final Transport transport;
    private final Tools tools;

    ByteStreamSide(Transport transport, Tools tools) {
        this.transport = transport;
        this.tools = tools;
    }

    final Tools tools() {
        return tools;
    }

    /** The handlers of a connection that the server has accepted. */
    abstract void addServerHandlers(ChannelPipeline pipeline);

    @Override
    public final String listen() throws Exception {
        ChannelInitializer<Channel> connections =
                new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        addServerHandlers(channel.pipeline());
                    }
                };
        return bind(transport, transport.bareServer(tools.group(), connections), tools);
    }

    /** A connected channel with these handlers. */
    final Channel connect(String address, ChannelHandler... handlers) throws Exception {
        ChannelInitializer<Channel> connection =
                new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(handlers);
                    }
                };
        return transport
                .bareClient(tools.group(), connection)
                .connect(transport.fromText(address))
                .sync()
                .channel();
    }

    /** Of a protocol that answers in the order of the calls. */
    abstract static class AnswersInOrder extends CallingHandler {

        private int answered;

        AnswersInOrder(Driver.Listener listener) {
            super(listener);
        }

        /** The oldest call in flight is answered. */
        final void answered() {
            driver().answered(++answered);
        }
    }
}
