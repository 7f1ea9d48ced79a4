// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.grpc.*;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.netty.*;
import io.grpc.stub.*;
import io.netty.channel.EventLoopGroup;
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.*;

/** A unary call and a stream of replies by gRPC: two lines of each builder differ from TCP. */
public final class GrpcExample implements MethodDescriptor.Marshaller<String> {

    @Override
    public InputStream stream(String value) { return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8)); }
    @Override
    public String parse(InputStream stream) {
        try {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static MethodDescriptor<String, String> method(MethodType type, String name) {
        return MethodDescriptor.newBuilder(new GrpcExample(), new GrpcExample())
                .setType(type).setFullMethodName(name).build();
    }

    public static void main(String... args) throws Exception {
        MethodDescriptor<String, String> unary = method(MethodType.UNARY, "Greeter/Greet");
        MethodDescriptor<String, String> streaming = method(MethodType.SERVER_STREAMING, "Greeter/GreetAll");
        EventLoopGroup group = new RdmaEventLoopGroup(1);
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .channelType(RdmaServerStreamChannel.class).bossEventLoopGroup(group).workerEventLoopGroup(group)
                .addService(ServerServiceDefinition.builder("Greeter")
                        .addMethod(unary, ServerCalls.asyncUnaryCall((name, replies) -> greet(name, 1, replies)))
                        .addMethod(streaming,
                                ServerCalls.asyncServerStreamingCall((name, replies) -> greet(name, 3, replies)))
                        .build())
                .build().start();
        ManagedChannel channel = NettyChannelBuilder.forAddress(server.getListenSockets().get(0))
                .channelType(RdmaStreamChannel.class).eventLoopGroup(group).usePlaintext().build();
        System.out.println("unary: " + ClientCalls.blockingUnaryCall(channel, unary, CallOptions.DEFAULT, "Ada"));
        ClientCalls.blockingServerStreamingCall(channel, streaming, CallOptions.DEFAULT, "Grace")
                .forEachRemaining(reply -> System.out.println("streaming: " + reply));
        channel.shutdown().awaitTermination(10, TimeUnit.SECONDS);
        server.shutdown().awaitTermination(10, TimeUnit.SECONDS);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
    }

    private static void greet(String name, int times, StreamObserver<String> replies) {
        for (int i = 1; i <= times; i++) {
            replies.onNext("hello, " + name + " " + i);
        }
        replies.onCompleted();
    }
}
