// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerAdapter;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.RejectedExecutionException;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.codec.LateReplies;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.ScarceMemory;
import org.rpcrdma.codec.internal.CallAnsweredException;
import org.rpcrdma.codec.internal.DroppedCallListener;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;

/** RFC 5531, 9: each call that no procedure should see has its golden reply. */
class RpcServerHandlerTest {

    private static final String OK = "00000007 00000001 00000000 00000000 00000000 00000000";

    /** Two versions: in both of them 1 adds, 2 fails, 3 waits. */
    private final List<RpcServerCall> waiting = new ArrayList<>();

    private final RpcProgram program =
            RpcProgram.builder(0x20000001)
                    .procedure(2, 1, RpcServerHandlerTest::add)
                    .procedure(4, 1, RpcServerHandlerTest::add)
                    .procedure(4, 2, RpcServerHandlerTest::fail)
                    .procedure(4, 3, waiting::add)
                    .build();

    private final EmbeddedChannel channel = new EmbeddedChannel(new RpcServerHandler(program));

    private static void add(RpcServerCall call) throws Exception {
        int sum = call.read(in -> in.readInt() + in.readInt());
        call.reply(out -> out.writeInt(sum));
    }

    private static void fail(RpcServerCall call) {
        throw new IllegalStateException("no memory of it");
    }

    private static ByteBuf hex(String text) {
        return Unpooled.copiedBuffer(ByteBufUtil.decodeHexDump(text.replace(" ", "")));
    }

    /** What the handler answers. */
    private String reply(String call) {
        ByteBuf message = hex(call);
        channel.writeInbound(message);
        assertThat(message.refCnt()).isZero();
        ByteBuf reply = channel.readOutbound();
        if (reply == null) {
            return null;
        }
        String text = ByteBufUtil.hexDump(reply).replaceAll("(.{8})(?=.)", "$1 ");
        reply.release();
        return text;
    }

    private static String call(int version, int procedure) {
        return "00000007 00000000 00000002 20000001 0000000%d 0000000%d 00000000 00000000 00000000 00000000 "
                .formatted(version, procedure);
    }

    @Test
    void aProcedureIsExecuted() {
        assertThat(reply(call(4, 1) + "00000003 00000004")).isEqualTo(OK + " 00000007");
        assertThat(reply(call(2, 0))).isEqualTo(OK);
    }

    @ParameterizedTest
    @CsvSource({
        // RPC version 3
        "00000007 00000000 00000003, 00000007 00000001 00000001 00000000 00000002 00000002",
        // another program
        "00000007 00000000 00000002 20000002 00000004 00000001 00000000 00000000 00000000 00000000,"
                + " 00000007 00000001 00000000 00000000 00000000 00000001",
        // version 3 of 2 to 4, which is not there
        "00000007 00000000 00000002 20000001 00000003 00000001 00000000 00000000 00000000 00000000,"
                + " 00000007 00000001 00000000 00000000 00000000 00000002 00000002 00000004",
        // another procedure
        "00000007 00000000 00000002 20000001 00000004 00000009 00000000 00000000 00000000 00000000,"
                + " 00000007 00000001 00000000 00000000 00000000 00000003",
        // arguments that end too early
        "00000007 00000000 00000002 20000001 00000004 00000001 00000000 00000000 00000000 00000000"
                + " 00000001, 00000007 00000001 00000000 00000000 00000000 00000004",
        // a procedure that throws
        "00000007 00000000 00000002 20000001 00000004 00000002 00000000 00000000 00000000 00000000,"
                + " 00000007 00000001 00000000 00000000 00000000 00000005",
        // a credential that is too long: AUTH_BADCRED
        "00000007 00000000 00000002 20000001 00000004 00000001 00000000 00000191 00000000 00000000,"
                + " 00000007 00000001 00000001 00000001 00000001",
        // AUTH_NONE with a body: AUTH_BADCRED
        "00000007 00000000 00000002 20000001 00000004 00000001 00000000 00000004 00000000 00000000"
                + " 00000000, 00000007 00000001 00000001 00000001 00000001",
        // AUTH_SYS with 17 groups: AUTH_BADCRED
        "00000007 00000000 00000002 20000001 00000004 00000001 00000001 00000014 00000000 00000000"
                + " 00000000 00000000 00000011 00000000 00000000,"
                + " 00000007 00000001 00000001 00000001 00000001",
        // RPCSEC_GSS: AUTH_REJECTEDCRED
        "00000007 00000000 00000002 20000001 00000004 00000001 00000006 00000000 00000000 00000000,"
                + " 00000007 00000001 00000001 00000001 00000002",
        // a verifier that is not there: AUTH_BADVERF
        "00000007 00000000 00000002 20000001 00000004 00000001 00000000 00000000 00000000 00000004,"
                + " 00000007 00000001 00000001 00000001 00000003",
    })
    void whatNoProcedureShouldSeeIsAnswered(String call, String golden) {
        assertThat(reply(call)).isEqualTo(golden);
        assertThat(channel.isActive()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"00000007", "00000007 00000002 00000002", "00000007 00000000 00000002 20000001"})
    void whatIsNoCallClosesTheChannel(String message) {
        assertThat(reply(message)).isNull();
        assertThat(channel.isActive()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {OK, "00000007 00000001", "00000007 00000001 00000001"})
    void repliesArePassedOn(String message) {
        ByteBuf reply = hex(message);
        channel.writeInbound(reply);
        assertThat(channel.<Object>readInbound()).isSameAs(reply);
        reply.release();
    }

    /** The message is released by the answer, and not before. */
    @Test
    void anAnswerMayComeLaterAndOnlyOnce() throws Exception {
        ByteBuf message =
                hex(
                        "00000007 00000000 00000002 20000001 00000004 00000003 00000001 0000001c"
                                + " 00000009 00000003 61626300 000003e8 00000064 00000001 00000005"
                                + " 00000000 00000000 0000002a");
        channel.writeInbound(message);
        RpcServerCall call = waiting.get(0);
        assertThat(AuthSys.of(call.credential()).uid()).isEqualTo(1000);
        assertThat(call.verifier()).isEqualTo(OpaqueAuth.NONE);
        assertThat(call.flavor()).isEqualTo(1);
        assertThat(call.arguments().readInt()).isEqualTo(42);
        assertThat(call.message()).isNull();
        assertThat(call.isAnswered()).isFalse();
        call.reply(hex("00000001"));
        assertThat(call.isAnswered()).isTrue();
        assertThat(message.refCnt()).isZero();
        ByteBuf reply = channel.readOutbound();
        assertThat(reply).isEqualTo(hex(OK + "00000001"));
        reply.release();
        ByteBuf second = hex("00000002");
        assertThatThrownBy(() -> call.reply(second)).hasMessageContaining("expected: one answer");
        assertThat(second.refCnt()).isZero();
        assertThatThrownBy(() -> call.refuse(Status.SYSTEM_ERR))
                .isInstanceOf(IllegalStateException.class);
        assertThat(channel.<Object>readOutbound()).isNull();
    }

    @Test
    void longResultsAreNotCopied() {
        channel.writeInbound(hex(call(4, 3)));
        ByteBuf results = Unpooled.directBuffer(8192).writeZero(8192);
        waiting.get(0).reply(results);
        ByteBuf reply = channel.readOutbound();
        assertThat(reply.readableBytes()).isEqualTo(24 + 8192);
        assertThat(results.refCnt()).isEqualTo(1);
        reply.release();
        assertThat(results.refCnt()).isZero();
    }

    /** Memory for what is expected, with the header, and for more if there is more. */
    @ParameterizedTest
    @CsvSource({"5000, 5000, 5024", "0, 4, 28"})
    void resultsOfAnExpectedLengthAreNotMoved(int expected, int written, int least) {
        channel.writeInbound(hex(call(4, 3)));
        int[] capacity = new int[1];
        RpcServerCall call = waiting.get(0);
        assertThatThrownBy(() -> call.reply(-1, XdrEncodable.VOID))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("results of -1 bytes (expected: at least 0)");
        call.reply(
                expected,
                out -> {
                    capacity[0] = out.buffer().capacity();
                    out.buffer().writeZero(written);
                });
        assertThat(capacity[0]).isEqualTo(24 + expected);
        ByteBuf reply = channel.readOutbound();
        assertThat(reply.readableBytes()).isEqualTo(24 + written);
        assertThat(reply.capacity()).isGreaterThanOrEqualTo(least);
        reply.release();
    }

    @Test
    void eligibleResultsAreItems() {
        channel.writeInbound(hex(call(4, 3)));
        ByteBuf data = hex("0102030405");
        waiting.get(0).reply(out -> out.writeItem(data));
        RpcMessage reply = channel.readOutbound();
        assertThat(reply.itemPosition(0)).isEqualTo(28);
        assertThat(reply.item(0)).isSameAs(data);
        reply.release();
    }

    @Test
    void aProcedureRefuses() {
        channel.writeInbound(hex(call(4, 3)), hex(call(4, 3)), hex(call(4, 3)));
        waiting.get(0).refuseAuthentication(RpcServerAuthenticator.AUTH_TOOWEAK);
        waiting.get(1).refuse(Status.PROC_UNAVAIL);
        waiting.get(2).drop();
        ByteBuf denied = channel.readOutbound();
        ByteBuf unavailable = channel.readOutbound();
        assertThat(denied).isEqualTo(hex("00000007 00000001 00000001 00000001 00000005"));
        assertThat(unavailable)
                .isEqualTo(hex("00000007 00000001 00000000 00000000 00000000 00000003"));
        assertThat(channel.<Object>readOutbound()).isNull();
        denied.release();
        unavailable.release();
    }

    @Test
    void anExecutorThatRejectsIsASystemError() {
        RpcProgram busy =
                RpcProgram.builder(0x20000001)
                        .procedure(4, 1, RpcServerHandlerTest::add)
                        .executor(
                                task -> {
                                    throw new RejectedExecutionException();
                                })
                        .build();
        EmbeddedChannel other = new EmbeddedChannel(new RpcServerHandler(busy));
        other.writeInbound(hex(call(4, 1)));
        ByteBuf reply = other.readOutbound();
        assertThat(reply).isEqualTo(hex("00000007 00000001 00000000 00000000 00000000 00000005"));
        reply.release();
    }

    /** Its caller would wait for ever, and over RDMA without the credit. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallThatFailsOnAnotherThreadIsAnswered(boolean isError) {
        Queue<Runnable> tasks = new ArrayDeque<>();
        RpcProgram failing =
                RpcProgram.builder(0x20000001)
                        .procedure(
                                4,
                                1,
                                call -> {
                                    if (isError) {
                                        throw new OutOfMemoryError("of the test");
                                    }
                                    throw new IOException("of the test");
                                })
                        .executor(tasks::add)
                        .build();
        EmbeddedChannel other = new EmbeddedChannel(new RpcServerHandler(failing));
        ByteBuf call = hex(call(4, 1));
        other.writeInbound(call);
        tasks.remove().run();
        other.runPendingTasks();
        ByteBuf reply = other.readOutbound();
        assertThat(reply).isEqualTo(hex("00000007 00000001 00000000 00000000 00000000 00000005"));
        reply.release();
        assertThat(call.refCnt()).isZero();
        assertThat(other.isOpen()).isTrue();
    }

    /** For the header, and for what joins it with long results; the connection is ended. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void resultsWithoutMemoryForTheirReplyAreReleased(int buffers) {
        ByteBuf results = Unpooled.buffer().writeZero(5000);
        EmbeddedChannel other = answering(results);
        ScarceMemory memory = new ScarceMemory(buffers);
        other.config().setAllocator(memory);
        ByteBuf call = hex(call(4, 1));
        other.writeInbound(call);
        assertThat(List.of(call.refCnt(), results.refCnt())).containsOnly(0);
        assertThat(memory.isBack()).isTrue();
        assertThat(other.isOpen()).isFalse();
        assertThat(other.<Object>readOutbound()).isNull();
    }

    @Test
    void resultsThatCannotBeJoinedWithTheirHeaderAreReleasedOnce() {
        ByteBuf results = ScarceMemory.longest().retain();
        EmbeddedChannel other = answering(results);
        ByteBuf call = hex(call(4, 1));
        other.writeInbound(call);
        assertThat(results.refCnt()).isOne();
        assertThat(call.refCnt()).isZero();
        results.release();
        ByteBuf reply = other.readOutbound();
        assertThat(reply).isEqualTo(hex("00000007 00000001 00000000 00000000 00000000 00000005"));
        reply.release();
    }

    private static EmbeddedChannel answering(ByteBuf results) {
        return new EmbeddedChannel(
                new RpcServerHandler(
                        RpcProgram.builder(0x20000001)
                                .procedure(4, 1, call -> call.reply(results))
                                .build()));
    }

    static final class NoMemory extends AbstractByteBufAllocator {
        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }

        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            throw new OutOfMemoryError("of the test");
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            throw new OutOfMemoryError("of the test");
        }

        @Override
        public CompositeByteBuf compositeHeapBuffer(int maxNumComponents) {
            throw new OutOfMemoryError("of the test");
        }

        @Override
        public CompositeByteBuf compositeDirectBuffer(int maxNumComponents) {
            throw new OutOfMemoryError("of the test");
        }
    }

    /** As the codec's, which is there when the pipeline is empty too. */
    private static final class Dropped extends ChannelHandlerAdapter
            implements DroppedCallListener {
        private final List<Integer> xids = new ArrayList<>();

        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        public void callDropped(int xid) {
            xids.add(xid);
        }

        @Override
        public void handlerRemoved(ChannelHandlerContext ctx) {
            ctx.pipeline().addLast(this);
        }
    }

    /** Its caller would wait for ever, its place never be another call's, and a duplicate wait for its reply. */
    @ParameterizedTest
    @ValueSource(strings = {"fails", "finds no arguments", "is rejected", "is not there"})
    void aCallWithoutMemoryForItsAnswerEndsTheConnection(String how) {
        Queue<Runnable> tasks = new ArrayDeque<>();
        RpcProgram failing =
                RpcProgram.builder(0x20000001)
                        .procedure(
                                4,
                                1,
                                call -> {
                                    if (how.equals("fails")) {
                                        call.reply();
                                    }
                                    call.read(XdrReader::readInt);
                                })
                        .executor(
                                task -> {
                                    if (how.equals("is rejected")) {
                                        throw new RejectedExecutionException();
                                    }
                                    tasks.add(task);
                                })
                        .build();
        Dropped dropped = new Dropped();
        EmbeddedChannel other = new EmbeddedChannel(dropped, new RpcServerHandler(failing));
        other.config().setAllocator(new NoMemory());
        ByteBuf call = hex(call(4, how.equals("is not there") ? 2 : 1));
        other.writeInbound(call);
        tasks.forEach(Runnable::run);
        other.runPendingTasks();
        assertThat(call.refCnt()).isZero();
        assertThat(other.isOpen()).isFalse();
        assertThat(other.<Object>readOutbound()).isNull();
        assertThat(dropped.xids).containsExactly(7);
    }

    /** Otherwise the queue of the executor has no bound: a client connects, calls and closes again and again. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallOfALostConnectionIsExecutedIfItsReplyIsAwaited(boolean isAwaited) {
        Queue<Runnable> tasks = new ArrayDeque<>();
        RpcProgram slow =
                RpcProgram.builder(0x20000001)
                        .procedure(4, 3, waiting::add)
                        .executor(tasks::add)
                        .build();
        EmbeddedChannel other =
                new EmbeddedChannel(
                        isAwaited ? new LateReplies() : new ChannelInboundHandlerAdapter(),
                        new RpcServerHandler(slow));
        ByteBuf begun = hex(call(4, 3));
        ByteBuf queued = hex(call(4, 3));
        other.writeInbound(begun, queued);
        tasks.remove().run();
        other.close();
        other.runPendingTasks();
        assertThat(begun.refCnt()).isEqualTo(1);
        assertThat(queued.refCnt()).isEqualTo(isAwaited ? 1 : 0);
        tasks.remove().run();
        assertThat(waiting).hasSize(isAwaited ? 2 : 1);
        waiting.forEach(RpcServerCall::reply);
        other.runPendingTasks();
        assertThat(begun.refCnt() + queued.refCnt()).isZero();
    }

    /** Without memory for one more thread: the task is in the queue, and the call is answered. */
    @Test
    void aCallThatAFailedExecutorHasQueuedIsNotExecuted() {
        Queue<Runnable> tasks = new ArrayDeque<>();
        RpcProgram slow =
                RpcProgram.builder(0x20000001)
                        .procedure(4, 3, waiting::add)
                        .executor(
                                task -> {
                                    tasks.add(task);
                                    throw new OutOfMemoryError("of the test");
                                })
                        .build();
        EmbeddedChannel other = new EmbeddedChannel(new RpcServerHandler(slow));
        ByteBuf call = hex(call(4, 3));
        other.writeInbound(call);
        ByteBuf reply = other.readOutbound();
        assertThat(reply).isEqualTo(hex("00000007 00000001 00000000 00000000 00000000 00000005"));
        reply.release();
        assertThat(call.refCnt()).isZero();
        tasks.remove().run();
        assertThat(waiting).isEmpty();
    }

    /** A reply that there is no memory to send ends the connection, so that its caller asks again. */
    @Test
    void aReplyThatCannotBeSentEndsTheConnection() {
        EmbeddedChannel other =
                new EmbeddedChannel(
                        new ChannelOutboundHandlerAdapter() {
                            @Override
                            public void write(
                                    ChannelHandlerContext ctx,
                                    Object message,
                                    ChannelPromise promise) {
                                ReferenceCountUtil.release(message);
                                throw new OutOfMemoryError("of the test");
                            }
                        },
                        new RpcServerHandler(program));
        other.writeInbound(hex(call(4, 0)));
        other.runPendingTasks();
        assertThat(other.isOpen()).isFalse();
    }

    /** Below the handler, as the codec does it: no write of a reply so far has ended its call. */
    private static final class Refusing extends ChannelOutboundHandlerAdapter {
        private final Queue<Throwable> causes = new ArrayDeque<>();

        Refusing(Throwable... causes) {
            this.causes.addAll(List.of(causes));
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (causes.isEmpty()) {
                ctx.write(message, promise);
            } else {
                ReferenceCountUtil.release(message);
                promise.setFailure(causes.remove());
            }
        }
    }

    /** The call has not ended by it: its caller would wait for ever, and over RDMA without the credit. */
    @Test
    void aReplyThatIsRefusedGivesWayToASystemError() {
        EmbeddedChannel other =
                new EmbeddedChannel(
                        new Refusing(new IllegalArgumentException("of the test")),
                        new RpcServerHandler(program));
        other.writeInbound(hex(call(4, 0)));
        other.runPendingTasks();
        ByteBuf reply = other.readOutbound();
        assertThat(reply).isEqualTo(hex("00000007 00000001 00000000 00000000 00000000 00000005"));
        reply.release();
        assertThat(other.isOpen()).isTrue();
    }

    private boolean isOpenAfter(Throwable secondCause) {
        EmbeddedChannel other =
                new EmbeddedChannel(
                        new Refusing(new IllegalArgumentException("of the test"), secondCause),
                        new RpcServerHandler(program));
        other.writeInbound(hex(call(4, 0)));
        other.runPendingTasks();
        assertThat(other.<Object>readOutbound()).isNull();
        return other.isOpen();
    }

    /** An answer of the codec itself is enough; without any the caller loses its connection. */
    @Test
    void aReplyThatIsRefusedTwiceEndsTheConnectionUnlessTheCallIsAnswered() {
        assertThat(isOpenAfter(new CallAnsweredException(7))).isTrue();
        assertThat(isOpenAfter(new IllegalArgumentException("of the test"))).isFalse();
        assertThat(isOpenAfter(new IllegalStateException("of another handler"))).isFalse();
    }

    @Test
    void anAuthenticatorDecides() {
        RpcServerAuthenticator gssOnly =
                call ->
                        call.flavor() == 6
                                ? RpcServerAuthenticator.AUTH_OK
                                : RpcServerAuthenticator.AUTH_TOOWEAK;
        EmbeddedChannel other =
                new EmbeddedChannel(new RpcServerHandler(gssOnly, List.of(program)));
        other.writeInbound(
                hex(call(4, 1)),
                hex(
                        call(4, 1)
                                        .replace(
                                                "00000000 00000000 00000000 00000000",
                                                "00000006 00000000 00000006 00000000")
                                + "00000001 00000002"));
        ByteBuf denied = other.readOutbound();
        ByteBuf believed = other.readOutbound();
        assertThat(denied).isEqualTo(hex("00000007 00000001 00000001 00000001 00000005"));
        assertThat(believed).isEqualTo(hex(OK + "00000003"));
        denied.release();
        believed.release();
    }

    @Test
    void aProgramWithoutAVersionIsRefused() {
        assertThatThrownBy(() -> RpcProgram.builder(1).build()).hasMessageContaining("expected: ");
        assertThat(program).hasToString("RpcProgram(536870913, versions 2 to 4)");
    }

    /** Whatever comes: one reply at most, or the end of the channel; nothing leaks. */
    @Property(tries = 2000)
    void anyBytesAreAnsweredOrEndTheChannel(@ForAll long seed) {
        Random random = new Random(seed);
        ByteBuf message = hex(call(4, 1) + "00000003 00000004");
        for (int spoiled = random.nextInt(4); spoiled > 0; spoiled--) {
            message.setInt(
                    4 * random.nextInt(12),
                    random.nextInt(3) == 0 ? random.nextInt() : random.nextInt(9));
        }
        message.writerIndex(random.nextInt(message.writerIndex() + 1));
        EmbeddedChannel any =
                new EmbeddedChannel(
                        new RpcServerHandler(
                                RpcProgram.builder(0x20000001)
                                        .procedure(4, 1, RpcServerHandlerTest::add)
                                        .build()));
        any.writeInbound(message);
        ByteBuf reply = any.readOutbound();
        Object passedOn = any.readInbound();
        assertThat(reply != null).isNotEqualTo(!any.isActive() || passedOn != null);
        if (reply != null) {
            reply.release();
        }
        if (passedOn != null) {
            message.release();
        }
        assertThat(message.refCnt()).isZero();
    }
}
