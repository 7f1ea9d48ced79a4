// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import org.rpcrdma.benchmarks.Transport;

/** HTTP/1.1 as Netty has it: the path of a GET is how many bytes are wanted. Answers come in the order of the GETs. */
final class Http1Side extends NettySide {

    private final Transport transport;
    private final Tools tools;

    Http1Side(Transport transport, Tools tools) {
        this.transport = transport;
        this.tools = tools;
    }

    @Override
    public String listen() throws Exception {
        ChannelInitializer<Channel> connections =
                new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new Answering());
                    }
                };
        return transport.toText(
                transport
                        .bareServer(tools.group(), connections)
                        .bind(transport.serverAddress(tools.directory()))
                        .sync()
                        .channel()
                        .localAddress());
    }

    @Override
    Driver open(String address, Driver.Listener listener) throws Exception {
        Answers answers = new Answers(listener);
        Channel connection =
                transport
                        .bareClient(
                                tools.group(),
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline().addLast(new HttpClientCodec(), answers);
                                    }
                                })
                        .connect(transport.fromText(address))
                        .sync()
                        .channel();
        connection.closeFuture().addListener(closed -> answers.driver.closed());
        return answers.driver;
    }

    /** The server's handler. */
    private final class Answering extends SimpleChannelInboundHandler<HttpObject> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
            if (part instanceof HttpRequest get) {
                int bytes = Integer.parseInt(get.uri().substring(1));
                FullHttpResponse response =
                        new DefaultFullHttpResponse(
                                HttpVersion.HTTP_1_1,
                                HttpResponseStatus.OK,
                                tools.memory().retainedSlice(0, bytes));
                response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, bytes);
                ctx.write(response, ctx.voidPromise());
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    /** The client's. */
    private static final class Answers extends SimpleChannelInboundHandler<HttpObject> {

        private final Driver driver;
        private ChannelHandlerContext ctx;
        private int lastId;

        Answers(Driver.Listener listener) {
            driver =
                    new Driver(listener) {
                        @Override
                        EventLoop loop() {
                            return ctx.channel().eventLoop();
                        }

                        @Override
                        void call(Work kind, int id) {
                            if (isQuiet()) {
                                lastId = id - 1;
                            }
                            ctx.write(
                                    new DefaultFullHttpRequest(
                                            HttpVersion.HTTP_1_1,
                                            HttpMethod.GET,
                                            "/" + kind.bytes()),
                                    ctx.voidPromise());
                        }

                        @Override
                        void flush() {
                            ctx.flush();
                        }
                    };
        }

        @Override
        public void handlerAdded(ChannelHandlerContext context) {
            ctx = context;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
            if (part instanceof LastHttpContent) {
                driver.answered(++lastId);
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            driver.failed(cause);
        }
    }
}
