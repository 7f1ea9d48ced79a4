// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoop;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.benchmarks.Transport;
import org.rpcrdma.benchmarks.compare.Work.Procedure;

/** gRPC with its handlers on the event loops; each message comes back. */
final class GrpcSide extends NettySide {

    private static final long PATIENCE_SECONDS = 10;
    private static final MethodDescriptor<byte[], byte[]> UNARY =
            method(MethodType.UNARY, "Echo/Unary");
    private static final MethodDescriptor<byte[], byte[]> BOTH_WAYS =
            method(MethodType.BIDI_STREAMING, "Echo/BothWays");

    private final Transport transport;
    private final Tools tools;
    private Server server;
    private ManagedChannel channel;

    GrpcSide(Transport transport, Tools tools) {
        this.transport = transport;
        this.tools = tools;
    }

    private static MethodDescriptor<byte[], byte[]> method(MethodType type, String name) {
        return MethodDescriptor.newBuilder(new Bytes(), new Bytes())
                .setType(type)
                .setFullMethodName(name)
                .build();
    }

    @Override
    public String listen() throws IOException {
        server =
                NettyServerBuilder.forAddress(
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                        .channelType(transport.serverClass())
                        .bossEventLoopGroup(tools.group())
                        .workerEventLoopGroup(tools.group())
                        .directExecutor()
                        .addService(
                                ServerServiceDefinition.builder("Echo")
                                        .addMethod(
                                                UNARY, ServerCalls.asyncUnaryCall(GrpcSide::echo))
                                        .addMethod(
                                                BOTH_WAYS,
                                                ServerCalls.asyncBidiStreamingCall(
                                                        GrpcSide::echoAll))
                                        .build())
                        .build()
                        .start();
        return transport.toText(server.getListenSockets().get(0));
    }

    private static void echo(byte[] request, StreamObserver<byte[]> replies) {
        replies.onNext(request);
        replies.onCompleted();
    }

    private static StreamObserver<byte[]> echoAll(StreamObserver<byte[]> replies) {
        return new StreamObserver<>() {
            @Override
            public void onNext(byte[] message) {
                replies.onNext(message);
            }

            @Override
            public void onError(Throwable cause) {
                // The client is gone.
            }

            @Override
            public void onCompleted() {
                replies.onCompleted();
            }
        };
    }

    @Override
    Driver open(String address, Driver.Listener listener) {
        channel =
                NettyChannelBuilder.forAddress(transport.fromText(address))
                        .channelType(transport.clientClass())
                        .eventLoopGroup(tools.group())
                        .directExecutor()
                        .usePlaintext()
                        .build();
        return new Messages(channel, tools.group().next(), listener);
    }

    @Override
    public void close() throws InterruptedException {
        if (channel != null) {
            channel.shutdownNow().awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
        if (server != null) {
            server.shutdownNow().awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }

    private static final class Messages extends Driver {

        private final ManagedChannel channel;
        private final EventLoop loop;
        private byte[] message = {};
        private StreamObserver<byte[]> stream;
        private int lastId;

        Messages(ManagedChannel channel, EventLoop loop, Listener listener) {
            super(listener);
            this.channel = channel;
            this.loop = loop;
        }

        @Override
        EventLoop loop() {
            return loop;
        }

        @Override
        void call(Work kind, int id) {
            if (message.length != kind.bytes()) {
                message = new byte[kind.bytes()];
            }
            if (kind.procedure() == Procedure.UNARY) {
                ClientCalls.asyncUnaryCall(
                        channel.newCall(UNARY, CallOptions.DEFAULT), message, new Reply(id));
                return;
            }
            if (stream == null) {
                lastId = id - 1;
                stream =
                        ClientCalls.asyncBidiStreamingCall(
                                channel.newCall(BOTH_WAYS, CallOptions.DEFAULT), new Replies());
            } else if (isQuiet()) {
                lastId = id - 1;
            }
            stream.onNext(message);
        }

        @Override
        void flush() {
            // gRPC does.
        }

        private final class Reply implements StreamObserver<byte[]> {

            private final int id;

            Reply(int id) {
                this.id = id;
            }

            @Override
            public void onNext(byte[] reply) {
                // It ends, then.
            }

            @Override
            public void onError(Throwable cause) {
                failed(cause);
            }

            @Override
            public void onCompleted() {
                answered(id);
            }
        }

        /** In the order of the messages. */
        private final class Replies implements StreamObserver<byte[]> {
            @Override
            public void onNext(byte[] reply) {
                answered(++lastId);
            }

            @Override
            public void onError(Throwable cause) {
                failed(cause);
            }

            @Override
            public void onCompleted() {
                closed();
            }
        }
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
