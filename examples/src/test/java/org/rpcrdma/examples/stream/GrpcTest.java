// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;

/** gRPC over RDMA: {@code channelType} and the event loops are all that is different from TCP. */
class GrpcTest {

    private static final int MOST = 16 << 20;

    private static final MethodDescriptor<byte[], byte[]> UNARY =
            method(MethodType.UNARY, "Echo/Unary");
    private static final MethodDescriptor<byte[], byte[]> BOTH_WAYS =
            method(MethodType.BIDI_STREAMING, "Echo/BothWays");

    private final Loops loops = new Loops();
    private final CountDownLatch cancelled = new CountDownLatch(1);
    private Server server;
    private ManagedChannel channel;

    private static MethodDescriptor<byte[], byte[]> method(MethodType type, String name) {
        return MethodDescriptor.newBuilder(GrpcBytes.MARSHALLER, GrpcBytes.MARSHALLER)
                .setType(type)
                .setFullMethodName(name)
                .build();
    }

    @BeforeEach
    void start() throws IOException {
        server =
                NettyServerBuilder.forAddress(
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                        .channelType(RdmaServerStreamChannel.class)
                        .bossEventLoopGroup(loops.server)
                        .workerEventLoopGroup(loops.server)
                        .maxInboundMessageSize(MOST)
                        .addService(
                                ServerServiceDefinition.builder("Echo")
                                        .addMethod(
                                                UNARY, ServerCalls.asyncUnaryCall(GrpcTest::echo))
                                        .addMethod(
                                                BOTH_WAYS,
                                                ServerCalls.asyncBidiStreamingCall(this::echoAll))
                                        .build())
                        .build()
                        .start();
        channel =
                NettyChannelBuilder.forAddress(server.getListenSockets().get(0))
                        .channelType(RdmaStreamChannel.class)
                        .eventLoopGroup(loops.client)
                        .maxInboundMessageSize(MOST)
                        .usePlaintext()
                        .build();
    }

    @AfterEach
    void stop() throws InterruptedException {
        channel.shutdownNow();
        server.shutdownNow();
        assertThat(channel.awaitTermination(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(server.awaitTermination(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        loops.close();
    }

    private static void echo(byte[] request, StreamObserver<byte[]> replies) {
        replies.onNext(request);
        replies.onCompleted();
    }

    private StreamObserver<byte[]> echoAll(StreamObserver<byte[]> replies) {
        ((ServerCallStreamObserver<byte[]>) replies).setOnCancelHandler(cancelled::countDown);
        return new StreamObserver<>() {
            @Override
            public void onNext(byte[] message) {
                replies.onNext(message);
            }

            @Override
            public void onError(Throwable cause) {
                // The cancel handler hears of it.
            }

            @Override
            public void onCompleted() {
                replies.onCompleted();
            }
        };
    }

    @Test
    void messagesOfAnyLength() {
        for (int length : new int[] {0, 1, 10_000, 1 << 20, MOST}) {
            byte[] reply =
                    ClientCalls.blockingUnaryCall(
                            channel, UNARY, CallOptions.DEFAULT, Loops.bytes(length));
            assertThat(reply).isEqualTo(Loops.bytes(length));
        }
    }

    @Test
    void streamingBothWays() throws Exception {
        Replies replies = new Replies();
        StreamObserver<byte[]> requests =
                ClientCalls.asyncBidiStreamingCall(
                        channel.newCall(BOTH_WAYS, CallOptions.DEFAULT), replies);
        for (int i = 0; i < 2000; i++) {
            requests.onNext(Loops.bytes(i));
        }
        requests.onCompleted();
        for (int i = 0; i < 2000; i++) {
            assertThat(replies.take()).isEqualTo(Loops.bytes(i));
        }
        assertThat(replies.completed.await(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aCallThatIsCancelledIsCancelledThere() throws Exception {
        Replies replies = new Replies();
        var call = channel.newCall(BOTH_WAYS, CallOptions.DEFAULT);
        StreamObserver<byte[]> requests = ClientCalls.asyncBidiStreamingCall(call, replies);
        requests.onNext(Loops.bytes(10));
        assertThat(replies.take()).isEqualTo(Loops.bytes(10));
        call.cancel("not wanted any more", null);
        assertThat(cancelled.await(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    private static final class Replies implements StreamObserver<byte[]> {
        final BlockingQueue<byte[]> messages = new LinkedBlockingQueue<>();
        final CountDownLatch completed = new CountDownLatch(1);

        byte[] take() throws InterruptedException {
            return messages.poll(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS);
        }

        @Override
        public void onNext(byte[] message) {
            messages.add(message);
        }

        @Override
        public void onError(Throwable cause) {
            // A test that waits for messages misses them.
        }

        @Override
        public void onCompleted() {
            completed.countDown();
        }
    }
}
