// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.Channel;
import org.rpcrdma.benchmarks.ResponderHandler;
import org.rpcrdma.benchmarks.Transport;

/** RPC with the same handlers on every transport. */
class RpcSide extends NettySide {

    final Transport transport;
    final Tools tools;

    RpcSide(Transport transport, Tools tools) {
        this.transport = transport;
        this.tools = tools;
    }

    @Override
    public String listen() throws Exception {
        return bind(
                transport,
                transport.server(tools.group(), () -> new ResponderHandler(tools.memory())),
                tools);
    }

    @Override
    final Driver open(String address, Driver.Listener listener) throws Exception {
        Channel channel =
                transport
                        .client(
                                tools.group(),
                                () -> new Caller(tools.memory(), transport.isPlaced(), listener))
                        .connect(transport.fromText(address))
                        .sync()
                        .channel();
        return channel.pipeline().get(Caller.class).driver();
    }
}
