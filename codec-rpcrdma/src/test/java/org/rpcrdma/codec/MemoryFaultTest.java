// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.Step;

/** There is no memory for one long message: nothing else waits for it, and the connection goes on. */
@NeedsDevice("privateDataOnAccept")
class MemoryFaultTest {

    /** More than a slab of the pool, so that memory is registered for it. */
    private static final int LONG = 2_000_000;

    private static final int SHORT = 8;

    private FaultPair pair;

    @BeforeEach
    void begin() {
        pair = new FaultPair();
    }

    @AfterEach
    void end() throws Exception {
        pair.close();
    }

    @Test
    void aLackOfHeapCostsTheReplyAlone() throws Exception {
        try (FaultPair.Connection connection = connect()) {
            call(connection, 1, SHORT);
            AtomicInteger lacks = lack(connection, Role.REQUESTER);
            assertThat(call(connection, LONG, SHORT)).contains("ReplyPullException");
            assertThat(lacks).hasPositiveValue();
            connection.plan(Role.REQUESTER, FaultPlan.NONE);
            assertThat(call(connection, 4, SHORT)).isEqualTo("replied");
            assertThat(call(connection, LONG + 1, SHORT)).isEqualTo("replied");
        }
    }

    /** The responder has granted it, so the want is its own: ERR_CHUNK would be permanent. */
    @ParameterizedTest
    @CsvSource({"3, " + LONG, LONG + ", " + SHORT})
    @Proves("V1-CRED-21")
    void aCallAndItsReplyWaitForMemoryAtTheResponder(int xid, int bytes) throws Exception {
        try (FaultPair.Connection connection = connect()) {
            call(connection, 1, SHORT);
            AtomicInteger lacks = lack(connection, Role.RESPONDER);
            connection.expectCalls(1);
            connection.call(Rpc.echo(xid, bytes));
            await().until(() -> lacks.get() >= 2);
            assertThat(call(connection, 4, SHORT)).isEqualTo("replied"); // waits for nothing
            assertThat(connection.outcomes()).doesNotContainKey(xid);
            connection.expectCalls(1);
            connection.plan(Role.RESPONDER, FaultPlan.NONE);
            assertThat(connection.outcomes()).containsEntry(xid, "replied");
            // Nothing is left of the attempts in what the peer's address may have begun.
            RdmaChannel responder = connection.channel(Role.RESPONDER);
            int limit = (int) Math.min(1 << 30, responder.config().getIncompleteBytesPerAddress());
            RpcPair.on(
                    responder,
                    () -> {
                        ChannelInternals.of(responder).incompleteBegins(1);
                        ChannelInternals.of(responder).incompleteBegins(limit - 1);
                        ChannelInternals.of(responder).incompleteEnds(limit);
                        return null;
                    });
        }
    }

    /** Whatever is waited for is nobody's when the connection is lost. */
    @ParameterizedTest
    @CsvSource({"3, " + LONG, LONG + ", " + SHORT})
    void nothingWaitsForMemoryOnALostConnection(int xid, int bytes) throws Exception {
        try (FaultPair.Connection connection = connect()) {
            call(connection, 1, SHORT);
            AtomicInteger lacks = lack(connection, Role.RESPONDER);
            connection.expectCalls(1);
            connection.call(Rpc.echo(xid, bytes));
            await().until(() -> lacks.get() >= 2);
        }
        assertThat(pair.memoryInUse(Role.RESPONDER)).isZero();
    }

    /** What the transport answers itself. */
    private enum Answer {
        ERR_VERS,
        ERR_CHUNK,
        ERR_CHUNK_OF_A_REPLY
    }

    /** Not even the Send of an error can be built: the requester has to know that no answer comes. */
    @ParameterizedTest
    @EnumSource
    @Proves("V1-ERR-21")
    void anErrorThatFindsNoMemoryEndsTheConnection(Answer answer) throws Exception {
        RpcRdmaConfig config = RpcPair.usual().announceReadChunkReplies(false).build();
        try (FaultPair.Connection connection = connect(config)) {
            call(connection, 1, SHORT);
            List<ByteBuf> taken = takeAll(connection, Role.RESPONDER);
            connection.expectCalls(1);
            if (answer == Answer.ERR_CHUNK_OF_A_REPLY) {
                connection.call(Rpc.echo(LONG, SHORT));
            } else {
                RdmaChannel requester = connection.channel(Role.REQUESTER);
                requester.pipeline().firstContext().writeAndFlush(bad(answer));
            }
            boolean isClosed =
                    connection
                            .channel(Role.REQUESTER)
                            .closeFuture()
                            .await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(isClosed).isTrue();
            release(connection, Role.RESPONDER, taken);
        }
    }

    /** The responder would keep the reply for as long as it waits for the completion. */
    @Test
    @Proves("RR-26")
    void aPullCompletionThatFindsNoMemoryEndsTheConnection() throws Exception {
        try (FaultPair.Connection connection = connect()) {
            call(connection, 1, SHORT);
            RpcRdmaConnection requester = RpcRdmaConnection.of(connection.channel(Role.REQUESTER));
            List<ByteBuf> taken = takeAll(connection, Role.REQUESTER);
            connection.expectCalls(1);
            connection.call(Rpc.echo(LONG, SHORT));
            boolean isClosed =
                    connection
                            .channel(Role.REQUESTER)
                            .closeFuture()
                            .await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(isClosed).isTrue();
            assertThat(requester.value(RpcRdmaCounter.PULL_COMPLETIONS_SENT)).isZero();
            release(connection, Role.REQUESTER, taken);
        }
    }

    /** In the memory of the call that is given up. */
    @Test
    @Proves("V1-ERR-24")
    void aSystemErrorNeedsNoMemory() throws Exception {
        LinkageError thrown = new LinkageError("thrown");
        CodecEnd responder =
                CodecEnd.of(
                        RpcPair.usual().build(),
                        new UserCodeTest.ThrowingCache("covers", thrown, 1));
        try (FaultPair.Connection connection = connect(responder)) {
            call(connection, 1, SHORT);
            List<ByteBuf> taken = takeAll(connection, Role.RESPONDER);
            assertThat(call(connection, 3, SHORT)).isEqualTo("replied");
            assertThat(connection.channel(Role.REQUESTER).isActive()).isTrue();
            release(connection, Role.RESPONDER, taken);
        }
    }

    /** Whenever a message comes to the codec from the peer, and at the responder from the user. */
    private static List<ByteBuf> takeAll(FaultPair.Connection connection, Role role)
            throws Exception {
        List<ByteBuf> taken = new ArrayList<>();
        RdmaChannel channel = connection.channel(role);
        ChannelPipeline pipeline = channel.pipeline();
        RpcPair.on(
                channel,
                () -> {
                    pipeline.addFirst(new Taker(channel, taken));
                    if (role == Role.RESPONDER) {
                        String user = pipeline.lastContext().name();
                        pipeline.addBefore(user, null, new Taker(channel, taken));
                    }
                    return null;
                });
        connection.plan(
                role,
                step -> {
                    if (step == Step.REGISTER) {
                        throw new OutOfMemoryError("Java heap space");
                    }
                });
        return taken;
    }

    /** Takes all memory of the event loop, to the last block. */
    private static final class Taker extends ChannelDuplexHandler {
        private final RdmaChannel channel;
        private final List<ByteBuf> taken;

        Taker(RdmaChannel channel, List<ByteBuf> taken) {
            this.channel = channel;
            this.taken = taken;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            takeAll();
            ctx.fireChannelRead(message);
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            takeAll();
            ctx.write(message, promise);
        }

        private void takeAll() {
            for (int size = 1 << 19; size > 0; size >>= 1) {
                try {
                    while (true) {
                        taken.add(channel.registeredBuffer(size));
                    }
                } catch (OutOfMemoryError e) {
                    assertThat(e).hasMessage("Java heap space"); // then the next smaller size
                }
            }
        }
    }

    private static void release(FaultPair.Connection connection, Role role, List<ByteBuf> taken)
            throws Exception {
        RpcPair.on(
                connection.channel(role),
                () -> {
                    taken.forEach(ByteBuf::release);
                    return null;
                });
    }

    /** A header in another version, or with a marker that is neither 0 nor 1. */
    private static ByteBuf bad(Answer answer) {
        ByteBuf out = Unpooled.buffer().writeInt(77).writeInt(answer == Answer.ERR_VERS ? 7 : 1);
        return out.writeInt(32).writeInt(0).writeInt(5).writeZero(64);
    }

    private static AtomicInteger lack(FaultPair.Connection connection, Role role) throws Exception {
        AtomicInteger lacks = new AtomicInteger();
        connection.plan(
                role,
                step -> {
                    if (step == Step.REGISTER) {
                        lacks.incrementAndGet();
                        throw new OutOfMemoryError("Java heap space");
                    }
                });
        return lacks;
    }

    /** An XID above all others asks for a long reply. */
    private FaultPair.Connection connect() throws Exception {
        return connect(RpcPair.usual().build());
    }

    private FaultPair.Connection connect(RpcRdmaConfig responder) throws Exception {
        return connect(CodecEnd.of(responder));
    }

    private FaultPair.Connection connect(CodecEnd responder) throws Exception {
        FaultPair.Connection connection =
                pair.connect(
                        CodecEnd.of(RpcPair.usual().build()),
                        responder,
                        call -> {
                            int xid = Rpc.xid((ByteBuf) call);
                            return Rpc.reply(xid).writeZero(xid >= LONG ? LONG : SHORT);
                        });
        connection.anyReplyWillDo();
        return connection;
    }

    private static String call(FaultPair.Connection connection, int xid, int bytes)
            throws Exception {
        connection.expectCalls(1);
        connection.call(Rpc.echo(xid, bytes));
        return connection.outcomes().get(xid);
    }
}
