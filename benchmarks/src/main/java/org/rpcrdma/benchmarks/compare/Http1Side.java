// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
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
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.benchmarks.Transport;

/** HTTP/1.1 as Netty has it: the path of a GET is how many bytes are wanted. */
final class Http1Side extends ByteStreamSide {

    Http1Side(Transport transport, Tools tools) {
        super(transport, tools);
    }

    @Override
    void addServerHandlers(ChannelPipeline pipeline) {
        pipeline.addLast(new HttpServerCodec(), new Answering());
    }

    @Override
    Driver open(String address, Driver.Listener listener) throws Exception {
        Answers answers = new Answers(listener);
        connect(address, new HttpClientCodec(), answers);
        return answers.driver();
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
                                tools().memory().retainedSlice(0, bytes));
                response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, bytes);
                ctx.write(response, ctx.voidPromise());
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    private static final class Answers extends AnswersInOrder {

        Answers(Driver.Listener listener) {
            super(listener);
        }

        @Override
        void write(ChannelHandlerContext ctx, Work work, int id) {
            ctx.write(
                    new DefaultFullHttpRequest(
                            HttpVersion.HTTP_1_1, HttpMethod.GET, "/" + work.bytes()),
                    ctx.voidPromise());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object part) {
            boolean isLast = part instanceof LastHttpContent;
            ReferenceCountUtil.release(part);
            if (isLast) {
                answered();
            }
        }
    }
}
