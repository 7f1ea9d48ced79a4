// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;

/**
 * gRPC's keep-alive over RDMA: a connection without work is pinged and stays, one whose peer is silent ends. gRPC pings
 * every ten seconds at most, so there is one test of both.
 */
class GrpcKeepAliveTest {

    /** PING of 8 bytes that is no answer (RFC 9113, 6.7), with what gRPC's server writes into it. */
    private static final String PING = "000008" + "06" + "00" + "00000000" + "000000000000dead";

    private static final MethodDescriptor<byte[], byte[]> BOTH_WAYS =
            MethodDescriptor.newBuilder(GrpcBytes.MARSHALLER, GrpcBytes.MARSHALLER)
                    .setType(MethodType.BIDI_STREAMING)
                    .setFullMethodName("Echo/BothWays")
                    .build();

    @Test
    void whoAnswersPingsStaysAndWhoIsSilentGoes() throws Exception {
        try (Loops loops = new Loops();
                Pair answering = new Pair(loops, Loops.PATIENCE_SECONDS);
                Pair silent = new Pair(loops, 1)) {
            answering.echoes();
            silent.ear.isDeaf = true;
            assertThat(silent.end()).isEqualTo(Status.UNAVAILABLE.getCode());
            await().atMost(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(() -> answering.ear.isPinged);
            answering.echoes();
            answering.requests.onCompleted();
            assertThat(answering.end()).isEqualTo(Status.OK.getCode());
        }
    }

    /** A server, a client and a call that stays open. */
    private static final class Pair implements StreamObserver<byte[]>, AutoCloseable {
        private final Ear ear = new Ear();
        private final BlockingQueue<byte[]> replies = new LinkedBlockingQueue<>();
        private final BlockingQueue<Status.Code> ends = new LinkedBlockingQueue<>();
        private final Server server;
        private final ManagedChannel channel;
        private final StreamObserver<byte[]> requests;

        Pair(Loops loops, long patienceSeconds) throws Exception {
            server =
                    NettyServerBuilder.forAddress(
                                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                            .channelType(RdmaServerStreamChannel.class)
                            .bossEventLoopGroup(loops.server)
                            .workerEventLoopGroup(loops.server)
                            .keepAliveTime(1, TimeUnit.SECONDS)
                            .keepAliveTimeout(patienceSeconds, TimeUnit.SECONDS)
                            .addService(
                                    ServerServiceDefinition.builder("Echo")
                                            .addMethod(
                                                    BOTH_WAYS,
                                                    ServerCalls.asyncBidiStreamingCall(
                                                            answers -> answers))
                                            .build())
                            .build()
                            .start();
            channel =
                    NettyChannelBuilder.forAddress(server.getListenSockets().get(0))
                            .channelFactory(
                                    () -> {
                                        RdmaStreamChannel stream = new RdmaStreamChannel();
                                        stream.pipeline().addFirst(ear);
                                        return stream;
                                    })
                            .eventLoopGroup(loops.client)
                            .usePlaintext()
                            .build();
            requests =
                    ClientCalls.asyncBidiStreamingCall(
                            channel.newCall(BOTH_WAYS, CallOptions.DEFAULT), this);
        }

        void echoes() throws InterruptedException {
            requests.onNext(Loops.bytes(1000));
            assertThat(replies.poll(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isEqualTo(Loops.bytes(1000));
        }

        Status.Code end() throws InterruptedException {
            return ends.poll(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS);
        }

        @Override
        public void onNext(byte[] reply) {
            replies.add(reply);
        }

        @Override
        public void onError(Throwable cause) {
            ends.add(Status.fromThrowable(cause).getCode());
        }

        @Override
        public void onCompleted() {
            ends.add(Status.Code.OK);
        }

        @Override
        public void close() throws InterruptedException {
            channel.shutdownNow();
            server.shutdownNow();
            assertThat(channel.awaitTermination(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(server.awaitTermination(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        }
    }

    /** Hears what comes to the client before gRPC does, which answers no ping that it does not hear. */
    private static final class Ear extends ChannelInboundHandlerAdapter {
        private volatile boolean isPinged;
        private volatile boolean isDeaf;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ByteBuf received = (ByteBuf) message;
            if (ByteBufUtil.hexDump(received).contains(PING)) {
                isPinged = true;
            }
            if (isDeaf) {
                received.release();
            } else {
                context.fireChannelRead(message);
            }
        }
    }
}
