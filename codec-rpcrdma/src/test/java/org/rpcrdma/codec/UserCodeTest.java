// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPipeline;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.ThrowingBinding.Method;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerHandler;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/** Code of users throws: the one call fails that it was asked for, and nothing else happens. */
class UserCodeTest {

    private static final int LONG = 100_000;

    /** What may be thrown; of the last kind is Netty's {@code OutOfDirectMemoryError}. */
    enum Kind {
        RUNTIME,
        CHECKED,
        ARGUMENT,
        ERROR;

        Throwable make() {
            return switch (this) {
                case RUNTIME -> new IllegalStateException("thrown");
                case CHECKED -> new IOException("thrown");
                case ARGUMENT -> new IllegalArgumentException("thrown");
                case ERROR -> new LinkageError("thrown");
            };
        }
    }

    private final ThrowingBinding binding = new ThrowingBinding();
    private final RpcRdmaConfig plain =
            RpcPair.usual().bindings(BindingRegistry.of(List.of(new BlobBinding()))).build();
    private RdmaEventLoopGroup group;
    private ScriptedResponder responder;
    private RpcRdmaClient client;

    @AfterEach
    void close() {
        if (client != null) {
            client.closeAsync().syncUninterruptibly();
            assertThat(client.outstandingCalls()).isZero();
            responder.close();
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
    }

    private RpcRdmaConfig.Builder throwing() {
        return RpcPair.usual().bindings(BindingRegistry.of(List.of(binding)));
    }

    static Stream<Arguments> everything(Method... methods) {
        return Stream.of(methods)
                .flatMap(
                        method -> Stream.of(Kind.values()).map(kind -> Arguments.of(method, kind)));
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static <T extends Throwable> T failure(Future<?> future, Class<T> type)
            throws Exception {
        assertThat(future.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(future.cause()).isInstanceOf(type);
        return type.cast(future.cause());
    }

    // ------------------------------------------------------------------ requester

    private void connect(ScriptedResponder.Script script) throws Exception {
        group = new RdmaEventLoopGroup(1);
        responder = new ScriptedResponder(plain, script);
        client =
                RpcRdmaClient.builder(group, responder.address())
                        .config(throwing().build())
                        .backOff(Duration.ofMillis(1), Duration.ofMillis(5))
                        .build();
    }

    /** With a Read chunk, and a Write chunk for as much. */
    private static ByteBuf blob() {
        return BlobBinding.call(BlobBinding.APPEND, LONG, 4, Rpc.random(LONG));
    }

    private void answering() throws Exception {
        connect(
                (channel, connection, call) ->
                        channel.writeAndFlush(
                                BlobBinding.reply(Rpc.xid(call), 4, Rpc.random(LONG))));
    }

    static Stream<Arguments> whatPlans() {
        return everything(Method.COVERS, Method.CHUNKS, Method.LIMIT, Method.ARGUMENTS);
    }

    @ParameterizedTest
    @MethodSource("whatPlans")
    @Proves("V1-ERR-20")
    void aCallWhoseBindingThrowsFailsBeforeItIsSent(Method method, Kind kind) throws Exception {
        answering();
        get(client.connect());
        Throwable thrown = kind.make();
        binding.fail(method, thrown);
        List<Future<ByteBuf>> calls = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            calls.add(client.call(blob()));
        }
        assertThat(failure(calls.get(0), MarshalException.class)).hasCause(thrown);
        for (Future<ByteBuf> call : calls.subList(1, 4)) {
            get(call).release();
        }
        assertThat(responder.calls).hasSize(3);
        assertThat(responder.accepted).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource
    @Proves("V1-ERR-20")
    void aReplyWhoseBindingThrowsIsOfACallThatWasExecutedOnce(Kind kind) throws Exception {
        answering();
        get(client.connect());
        Throwable thrown = kind.make();
        binding.fail(Method.RESULTS, thrown);
        Future<ByteBuf> call = client.call(blob());
        Future<ByteBuf> next = client.call(blob());
        assertThat(failure(call, LocalReplyDecodeException.class)).hasCause(thrown);
        get(next).release();
        assertThat(responder.calls).hasSize(2);
        assertThat(responder.accepted).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource
    @Proves("V1-ERR-20")
    void anEncoderThatThrowsFailsItsOwnCall(Kind kind) throws Exception {
        answering();
        Throwable thrown = kind.make();
        List<Future<ByteBuf>> calls = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int number = i;
            calls.add(
                    client.call(
                            xid -> {
                                if (number == 1) {
                                    ThrowingBinding.<RuntimeException>raise(thrown);
                                }
                                return blob().setInt(0, xid);
                            }));
        }
        assertThat(failure(calls.remove(1), MarshalException.class)).hasCause(thrown);
        for (Future<ByteBuf> call : calls) {
            get(call).release();
        }
        assertThat(responder.accepted).hasSize(1);
    }

    /** The others of its batch are made all the same, and it ends like any other. */
    @Test
    @Proves("V1-ERR-20")
    void anEncoderThatGivesAReleasedMessageFailsItsOwnCall() throws Exception {
        answering();
        List<Future<ByteBuf>> calls = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int number = i;
            calls.add(
                    client.call(
                            xid -> {
                                ByteBuf call = blob().setInt(0, xid);
                                if (number == 1) {
                                    call.release();
                                }
                                return call;
                            }));
        }
        assertThat(failure(calls.remove(1), MarshalException.class))
                .hasCauseInstanceOf(IllegalReferenceCountException.class);
        for (Future<ByteBuf> call : calls) {
            get(call).release();
        }
    }

    /** It is asked whether the calls of the lost connection may be repeated. */
    @ParameterizedTest
    @EnumSource
    void aBindingThatThrowsAtALossIsNotCertain(Kind kind) throws Exception {
        connect((channel, connection, call) -> {});
        CallOptions once = CallOptions.DEFAULT.withRetransmission(false);
        List<Future<ByteBuf>> calls = new ArrayList<>();
        Future<ByteBuf> first = client.call(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0]));
        responder.take().reply(BlobBinding.reply(0, 4, new byte[0])); // more credits
        get(first).release();
        for (int i = 0; i < 2; i++) {
            calls.add(client.call(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0]), once));
        }
        responder.take();
        responder.take();
        binding.fail(Method.IDEMPOTENT, kind.make());
        responder.accepted.get(0).close();
        assertThat(failure(calls.get(0), ConnectionLostException.class).isRetryable()).isFalse();
        assertThat(failure(calls.get(1), ConnectionLostException.class).isRetryable()).isTrue();
        assertThat(binding.hasFailed()).isTrue();
    }

    /** The XID of a call that failed is free. */
    @Test
    @Proves("V1-ERR-20")
    void aCallThatFailsLeavesNothing() throws Exception {
        try (RpcPair pair = RpcPair.of(throwing().build(), plain)) {
            binding.fail(Method.LIMIT, new LinkageError("thrown"));
            ByteBuf call = blob().setInt(0, 7);
            assertThat(failure(pair.call(call), MarshalException.class))
                    .hasRootCauseMessage("thrown");
            pair.call(blob().setInt(0, 7)).sync();
            assertThat(pair.server.takeXid()).isEqualTo(7);
            assertThat(pair.client.errors).isEmpty();
        }
    }

    // ------------------------------------------------------------------ responder

    private static void systemError(RpcPair pair, int xid) throws Exception {
        ByteBuf reply = pair.client.takeBuffer();
        try {
            assertThat(Rpc.xid(reply)).isEqualTo(xid);
            assertThat(reply.getInt(reply.readerIndex() + 20))
                    .isEqualTo(OncRpcHeaderDecoder.SYSTEM_ERR);
            assertThat(reply.readableBytes()).isEqualTo(24);
        } finally {
            reply.release();
        }
    }

    /** The connection is as it was, credits included. */
    private static void works(RpcPair pair) throws Exception {
        pair.call(blob().setInt(0, 99)).sync();
        assertThat(pair.server.takeXid()).isEqualTo(99);
        pair.reply(BlobBinding.reply(99, 4, Rpc.random(LONG))).sync();
        assertThat(pair.client.takeXid()).isEqualTo(99);
        assertThat(pair.serverConnection().value(RpcRdmaGauge.CALLS_IN_PROGRESS)).isZero();
        assertThat(pair.serverConnection().value(RpcRdmaGauge.READ_BYTES_HELD)).isZero();
        assertThat(pair.server.errors).isEmpty();
    }

    static Stream<Arguments> whatServes() {
        return everything(Method.COVERS, Method.ARGUMENTS);
    }

    @ParameterizedTest
    @MethodSource("whatServes")
    @Proves("V1-ERR-24")
    void aCallWhoseBindingThrowsIsAnswered(Method method, Kind kind) throws Exception {
        try (RpcPair pair = RpcPair.of(plain, throwing().build())) {
            binding.fail(method, kind.make());
            pair.call(blob().setInt(0, 7)).sync();
            systemError(pair, 7);
            assertThat(pair.serverConnection().value(RpcRdmaCounter.SYSTEM_ERRORS_SENT)).isOne();
            assertThat(pair.server.messages).isEmpty();
            works(pair);
        }
    }

    @ParameterizedTest
    @EnumSource
    @Proves("V1-ERR-24")
    void aReplyWhoseBindingThrowsIsAnsweredByAnother(Kind kind) throws Exception {
        try (RpcPair pair = RpcPair.of(plain, throwing().build())) {
            pair.call(blob().setInt(0, 7)).sync();
            assertThat(pair.server.takeXid()).isEqualTo(7);
            Throwable thrown = kind.make();
            binding.fail(Method.RESULTS, thrown);
            ChannelFuture reply = pair.reply(BlobBinding.reply(7, 4, Rpc.random(LONG)));
            assertThat(failure(reply, MarshalException.class)).hasCause(thrown);
            systemError(pair, 7);
            works(pair);
        }
    }

    /** A program whose reply has failed does not answer once more, nor end the connection. */
    @Test
    @Proves("V1-ERR-24")
    void aReplyOfAProgramWhoseBindingThrowsIsAnsweredByAnother() throws Exception {
        try (RpcPair pair = RpcPair.of(plain, throwing().build())) {
            RpcProgram program =
                    RpcProgram.builder(BlobBinding.PROGRAM)
                            .procedure(
                                    1,
                                    BlobBinding.APPEND,
                                    call ->
                                            call.replyWhole(
                                                    BlobBinding.reply(7, 4, Rpc.random(LONG))))
                            .build();
            RpcServerHandler handler = new RpcServerHandler(program);
            ChannelPipeline pipeline = pair.serverChannel.pipeline();
            pipeline.addBefore(pipeline.context(pair.server).name(), null, handler);
            RpcPair.settle(pair.serverChannel);
            binding.fail(Method.RESULTS, new IllegalStateException("thrown"));
            pair.call(blob().setInt(0, 7)).sync();
            systemError(pair, 7);
            pipeline.remove(handler);
            RpcPair.settle(pair.serverChannel);
            works(pair);
        }
    }

    /** Items of the user: the binding is asked before the message is taken over. */
    @ParameterizedTest
    @EnumSource
    @Proves("V1-ERR-24")
    void aReplyInPartsWhoseBindingThrowsIsAnsweredByAnother(Kind kind) throws Exception {
        try (RpcPair pair = RpcPair.of(plain, throwing().build())) {
            pair.call(blob().setInt(0, 7)).sync();
            assertThat(pair.server.takeXid()).isEqualTo(7);
            Throwable thrown = kind.make();
            binding.fail(Method.RESULTS, thrown);
            ByteBuf data =
                    RpcPair.on(pair.serverChannel, () -> pair.serverChannel.registeredBuffer(LONG));
            ByteBuf content = Rpc.opaque(Rpc.reply(7), Rpc.random(4)).writeInt(LONG);
            RpcMessage message = new RpcMessage(content).addItem(36, data.writeZero(LONG));
            data.retain(); // else the pool reuses the object, and it counts somebody else's
            // references
            assertThat(failure(pair.reply(message), MarshalException.class)).hasCause(thrown);
            assertThat(data.refCnt()).isOne();
            data.release();
            systemError(pair, 7);
            works(pair);
        }
    }

    // ------------------------------------------------------------------ who has no call

    @ParameterizedTest
    @EnumSource
    void aListenerThatThrowsTouchesNoCall(Kind kind) throws Exception {
        RpcRdmaLatencyListener listener =
                new RpcRdmaLatencyListener() {
                    @Override
                    public void callEnded(
                            RpcRdmaRole role, String name, RpcRdmaCallOutcome outcome, long nanos) {
                        ThrowingBinding.<RuntimeException>raise(kind.make());
                    }

                    @Override
                    public void creditGot(long nanos) {
                        ThrowingBinding.<RuntimeException>raise(kind.make());
                    }
                };
        RpcRdmaMetrics ofClient = new RpcRdmaMetrics();
        ofClient.addListener(listener);
        RpcRdmaMetrics ofServer = new RpcRdmaMetrics();
        ofServer.addListener(listener);
        RpcRdmaConfig clientConfig =
                RpcPair.usual().bindings(BindingRegistry.of(List.of(new BlobBinding()))).build();
        try (RpcPair pair =
                RpcPair.of(
                        CodecEnd.of(clientConfig, ofClient),
                        CodecEnd.of(throwing().build(), ofServer))) {
            binding.fail(Method.NAME, kind.make());
            pair.call(blob().setInt(0, 7)); // the second one waits for its credit
            pair.call(blob().setInt(0, 8));
            for (int xid = 7; xid <= 8; xid++) {
                assertThat(pair.server.takeXid()).isEqualTo(xid);
                pair.reply(BlobBinding.reply(xid, 4, Rpc.random(LONG))).sync();
                assertThat(pair.client.takeXid()).isEqualTo(xid);
            }
            assertThat(binding.hasFailed()).isTrue();
            works(pair);
            assertThat(pair.client.errors).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aCreditPolicyThatThrowsLeavesTheGrant(Kind kind) throws Exception {
        CreditPolicy policy =
                load -> {
                    ThrowingBinding.<RuntimeException>raise(kind.make());
                    return 0;
                };
        RpcRdmaConfig config =
                throwing().creditPolicy(policy).minimumCredits(2).grantedCredits(5).build();
        try (RpcPair pair = RpcPair.of(plain, config)) {
            works(pair);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(5);
        }
    }

    // ------------------------------------------------------------------ the cache of replies

    /** Throws one time that it is asked for one thing. */
    static final class ThrowingCache implements DuplicateRequestCache {
        private final String method;
        private final Throwable thrown;
        private final int after;
        private int asked;

        ThrowingCache(String method, Throwable thrown) {
            this(method, thrown, 0);
        }

        /** After it was asked so often. */
        ThrowingCache(String method, Throwable thrown, int after) {
            this.method = method;
            this.thrown = thrown;
            this.after = after;
        }

        private void at(String name) {
            if (name.equals(method) && asked++ == after) {
                ThrowingBinding.<RuntimeException>raise(thrown);
            }
        }

        @Override
        public boolean covers(int program, int version, int procedure) {
            at("covers");
            return true;
        }

        @Override
        public Lookup begin(Call call, Waiter waiter) {
            at("begin");
            return new Lookup(Progress.NEW, null);
        }

        @Override
        public void done(Call call, ByteBuf reply) {
            at("done");
        }

        @Override
        public void abandon(Call call) {
            at("abandon");
        }

        @Override
        public void withdraw(Call call, Waiter waiter) {
            at("withdraw");
        }
    }

    private RpcPair pair(RpcRdmaConfig.Builder server, ThrowingCache cache) throws Exception {
        return RpcPair.of(CodecEnd.of(plain), CodecEnd.of(server.build(), cache));
    }

    @ParameterizedTest
    @EnumSource
    @Proves("V1-ERR-24")
    void aCallIsAnsweredWhoseCacheThrows(Kind kind) throws Exception {
        for (String method : new String[] {"covers", "begin"}) {
            ThrowingCache cache = new ThrowingCache(method, kind.make());
            try (RpcPair pair = pair(throwing(), cache)) {
                pair.call(blob().setInt(0, 7)).sync();
                systemError(pair, 7);
                works(pair);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aCacheThatDoesNotTakeAReplyKeepsItFromNobody(Kind kind) throws Exception {
        ThrowingCache cache = new ThrowingCache("done", kind.make());
        try (RpcPair pair = pair(throwing(), cache)) {
            works(pair);
            assertThat(cache.asked).isOne();
        }
    }

    /** Of two calls whose connection is lost each is given back. */
    @Test
    void aCacheThatThrowsAtALossIsAskedForTheNextCall() throws Exception {
        ThrowingCache cache = new ThrowingCache("abandon", new LinkageError("thrown"));
        RpcPair pair = pair(throwing().lateReplyMillis(1), cache);
        works(pair);
        for (int xid = 1; xid <= 2; xid++) {
            pair.call(blob().setInt(0, xid)).sync();
            assertThat(pair.server.takeXid()).isEqualTo(xid);
        }
        pair.close(); // ends the event loop, and with it the time for late replies
        assertThat(cache.asked).isEqualTo(2);
    }
}
