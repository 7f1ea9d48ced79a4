// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.DuplicateRequestCache.Call;
import org.rpcrdma.codec.DuplicateRequestCache.Lookup;
import org.rpcrdma.codec.DuplicateRequestCache.Progress;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.codec.rpc.RpcServerHandler;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/** Calls that come again: RPC messages are remembered, and go into the chunks of the new call. */
class DuplicateRequestCacheTest {

    private static final InetAddress CLIENT = InetAddress.getLoopbackAddress();

    private static Call call(int xid) {
        return new Call(CLIENT, xid, Rpc.NFS, 3, 12, 100, 0xABCD);
    }

    private static CodecEnd caching() {
        return caching(1_000_000);
    }

    private static CodecEnd caching(int lateReplyMillis) {
        return CodecEnd.of(RpcPair.usual().lateReplyMillis(lateReplyMillis).build(), coveringAll());
    }

    private static RpcPair serve(CodecEnd server) throws Exception {
        return serve(RpcPair.usual().build(), server);
    }

    private static RpcPair serve(RpcRdmaConfig client, CodecEnd server) throws Exception {
        return RpcPair.of(CodecEnd.of(client), server);
    }

    /** Loses the connection on which a handler is at work on a call; nothing is in the server's pipeline afterwards. */
    private static void lose(RpcPair pair) throws Exception {
        pair.clientChannel.close().sync();
        assertThat(pair.server.awaitInactive()).isTrue();
        RpcPair.settle(pair.serverChannel);
    }

    private static ChannelFuture answerLate(RpcPair pair, Object reply) throws Exception {
        ChannelFuture late =
                RpcPair.on(pair.serverChannel, () -> pair.serverChannel.writeAndFlush(reply));
        assertThat(late.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return late;
    }

    private static byte[] bytes(ByteBuf message) {
        return Rpc.bytes(message);
    }

    /** Notes what it is told. */
    private static final class NotedWaiter implements DuplicateRequestCache.Waiter {
        final List<String> told = new ArrayList<>();

        @Override
        public void answered(ByteBuf reply) {
            told.add(ByteBufUtil.hexDump(reply));
            reply.release();
        }

        @Override
        public void abandoned() {
            told.add("abandoned");
        }
    }

    private final NotedWaiter waiter = new NotedWaiter();
    private final BoundedDuplicateRequestCache cache =
            new BoundedDuplicateRequestCache(3, 8, 20, (program, version, procedure) -> true);

    private Progress begin(int xid) {
        Lookup found = cache.begin(call(xid), waiter);
        if (found.reply() != null) {
            found.reply().release();
        }
        return found.progress();
    }

    private void done(int xid, int bytes) {
        ByteBuf reply = Unpooled.buffer().writeZero(bytes);
        cache.done(call(xid), reply);
        assertThat(reply.refCnt()).isEqualTo(1);
        reply.release();
    }

    @Test
    void newThenInProgressThenDone() {
        assertThat(begin(1)).isEqualTo(Progress.NEW);
        assertThat(begin(1)).isEqualTo(Progress.IN_PROGRESS);
        done(1, 4);
        assertThat(waiter.told).containsExactly("00000000");
        assertThat(begin(1)).isEqualTo(Progress.DONE);
        assertThat(begin(1)).isEqualTo(Progress.DONE);
    }

    @Test
    void anotherCallWithTheSameXidIsNew() {
        begin(1);
        done(1, 4);
        Call same = call(1);
        assertThat(cache.begin(new Call(CLIENT, 1, Rpc.NFS, 3, 12, 100, 0xABCE), waiter).progress())
                .isEqualTo(Progress.NEW);
        assertThat(cache.begin(new Call(CLIENT, 1, Rpc.NFS, 3, 12, 104, same.checksum()), waiter))
                .isEqualTo(new Lookup(Progress.NEW, null));
    }

    @Test
    void oldestRepliesGoFirst() {
        for (int xid = 1; xid <= 4; xid++) {
            begin(xid);
            done(xid, 1);
        }
        assertThat(begin(1)).isEqualTo(Progress.NEW);
        assertThat(begin(2)).isEqualTo(Progress.DONE);
        begin(5);
        done(5, 8);
        begin(6);
        done(6, 8);
        begin(7);
        done(7, 8); // 24 bytes are more than 20
        assertThat(begin(5)).isEqualTo(Progress.NEW);
        assertThat(begin(6)).isEqualTo(Progress.DONE);
    }

    @Test
    void longRepliesAreNotKeptButWaitersGetThem() {
        begin(1);
        done(1, 9);
        assertThat(begin(1)).isEqualTo(Progress.NEW);
        begin(1);
        done(1, 9);
        assertThat(waiter.told).containsExactly("000000000000000000");
    }

    @Test
    void abandonedCallGoesToTheOneWhoWaits() {
        begin(1);
        begin(1);
        cache.abandon(call(1));
        assertThat(waiter.told).containsExactly("abandoned");
        assertThat(begin(1)).isEqualTo(Progress.IN_PROGRESS);
        begin(1);
        cache.done(call(1), Unpooled.EMPTY_BUFFER);
        assertThat(waiter.told).containsExactly("abandoned", "", "");
        begin(2);
        cache.abandon(call(2));
        assertThat(begin(2)).isEqualTo(Progress.NEW);
        cache.abandon(call(99));
        cache.done(call(99), Unpooled.EMPTY_BUFFER);
    }

    @Test
    void callsInProgressAreBounded() {
        for (int xid = 1; xid <= 4; xid++) {
            assertThat(begin(xid)).isEqualTo(Progress.NEW);
        }
        assertThat(begin(2)).isEqualTo(Progress.IN_PROGRESS);
        assertThat(begin(4)).isEqualTo(Progress.NEW); // not looked after
        done(4, 1);
        assertThat(begin(4)).isEqualTo(Progress.NEW);
    }

    @Test
    void aReplyThatCannotBeCopiedIsAwaitedByNobody() {
        begin(1);
        begin(1);
        ByteBuf reply = UncopiedBuffer.of(4);
        assertThatThrownBy(() -> cache.done(call(1), reply)).hasMessage("no copy of it");
        assertThat(waiter.told).containsExactly("abandoned");
        assertThat(begin(1)).isEqualTo(Progress.IN_PROGRESS);
        done(1, 4);
        assertThat(waiter.told).containsExactly("abandoned", "00000000");
    }

    @Test
    void aLongReplyIsNotCopiedForNobody() {
        begin(1);
        cache.done(call(1), UncopiedBuffer.of(9));
        assertThat(begin(1)).isEqualTo(Progress.NEW);
    }

    @Test
    void aWaiterThatThrowsKeepsTheReplyFromNoOther() {
        begin(1);
        cache.begin(
                call(1),
                new DuplicateRequestCache.Waiter() {
                    @Override
                    public void answered(ByteBuf reply) {
                        throw new IllegalStateException("not told");
                    }

                    @Override
                    public void abandoned() {}
                });
        begin(1);
        assertThatThrownBy(() -> done(1, 1)).hasMessage("not told");
        assertThat(waiter.told).containsExactly("00");
        assertThat(begin(1)).isEqualTo(Progress.DONE);
    }

    private static Call from(int host, int xid) throws Exception {
        InetAddress client = InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) host});
        return new Call(client, xid, Rpc.NFS, 3, 12, 100, 0xABCD);
    }

    private Progress answer(Call call, int bytes) {
        return answer(cache, call, bytes);
    }

    private Progress answer(DuplicateRequestCache cache, Call call, int bytes) {
        Lookup found = cache.begin(call, waiter);
        if (found.progress() == Progress.NEW) {
            cache.done(call, Unpooled.wrappedBuffer(new byte[bytes]));
        }
        return found.progress();
    }

    /** Clients that have gone leave their places to those that come. */
    @Test
    void theOldestOfAllIsEvictedForAClientWithLessThanHalf() throws Exception {
        BoundedDuplicateRequestCache small =
                new BoundedDuplicateRequestCache(4, 8, 64, (program, version, procedure) -> true);
        int[] calls = {0, 4, 3, 2, 2};
        for (int host = 1; host <= 4; host++) {
            for (int xid = 1; xid <= calls[host]; xid++) {
                assertThat(answer(small, from(host, xid), 1)).isEqualTo(Progress.NEW);
            }
        }
        for (int host = 3; host <= 4; host++) {
            for (int xid = 1; xid <= 2; xid++) {
                assertThat(answer(small, from(host, xid), 1)).isEqualTo(Progress.DONE);
            }
        }
    }

    /** It does so for others too, who else would keep few beside a client that renews its replies. */
    @Test
    void anAddressWithMoreThanHalfMakesRoomForOthers() throws Exception {
        BoundedDuplicateRequestCache small =
                new BoundedDuplicateRequestCache(4, 8, 64, (program, version, procedure) -> true);
        for (int xid = 1; xid <= 4; xid++) {
            answer(small, from(1, xid), 1);
        }
        answer(small, from(2, 1), 1);
        for (int xid = 5; xid <= 7; xid++) {
            answer(small, from(1, xid), 1);
        }
        answer(small, from(2, 2), 1);
        assertThat(answer(small, from(2, 1), 1)).isEqualTo(Progress.DONE);
        assertThat(answer(small, from(2, 2), 1)).isEqualTo(Progress.DONE);
    }

    /** Whoever has more than half gives up its own. */
    @Test
    void anAddressDoesNotEvictTheRepliesOfAnother() throws Exception {
        answer(from(1, 1), 1);
        for (int xid = 1; xid <= 100; xid++) {
            answer(from(2, xid), 8);
        }
        assertThat(answer(from(1, 1), 1)).isEqualTo(Progress.DONE);
        assertThat(answer(from(2, 100), 8)).isEqualTo(Progress.DONE);
        assertThat(answer(from(2, 98), 8)).isEqualTo(Progress.NEW);
        answer(from(1, 2), 1);
        answer(from(3, 1), 1);
        assertThat(answer(from(1, 2), 1)).isEqualTo(Progress.DONE);
        assertThat(answer(from(3, 1), 1)).isEqualTo(Progress.DONE);
    }

    @Test
    void anAddressLeavesPlacesForTheCallsOfOthers() throws Exception {
        for (int xid = 1; xid <= 3; xid++) {
            cache.begin(from(1, xid), waiter);
        }
        assertThat(cache.begin(from(2, 1), waiter).progress()).isEqualTo(Progress.NEW);
        assertThat(cache.begin(from(2, 1), waiter).progress()).isEqualTo(Progress.IN_PROGRESS);
        assertThat(cache.begin(from(1, 1), waiter).progress()).isEqualTo(Progress.IN_PROGRESS);
        assertThat(cache.begin(from(1, 3), waiter).progress()).isEqualTo(Progress.NEW);
        assertThat(cache)
                .asString()
                .contains("2 calls not remembered")
                .contains("3 calls in progress");
    }

    @Test
    void nullIsNotRememberedByDefault() {
        BoundedDuplicateRequestCache usual = new BoundedDuplicateRequestCache();
        assertThat(usual.covers(Rpc.NFS, 3, 0)).isFalse();
        assertThat(usual.covers(Rpc.NFS, 3, 1)).isTrue();
    }

    /** The first time the reply goes one way, the second time into other chunks; the handler sees one call. */
    @ParameterizedTest
    @EnumSource(Form.class)
    @Proves("V1-ERR-22")
    void replyGoesIntoTheChunksOfTheNewCall(Form form) throws Exception {
        CodecEnd server = caching();
        int xid = form.xids() | 9;
        for (int attempt = 0; attempt < 3; attempt++) {
            // The third connection offers other chunks than the first two.
            RpcRdmaConfig client =
                    attempt < 2
                            ? RpcPair.usual().build()
                            : RpcPair.usual()
                                    .receiveSize(32768)
                                    .sendSize(32768)
                                    .defaultMaximumReply(40_000)
                                    .build();
            CodecEnd served =
                    attempt < 2
                            ? server
                            : CodecEnd.of(
                                    RpcPair.usual().receiveSize(32768).sendSize(32768).build(),
                                    server.duplicates());
            try (RpcPair pair = serve(client, served)) {
                pair.call(form.call(xid));
                if (attempt == 0) {
                    assertThat(pair.server.takeXid()).isEqualTo(xid);
                    pair.reply(form.reply(xid));
                }
                ByteBuf right = form.reply(xid);
                assertThat(pair.client.takeBytes()).isEqualTo(ByteBufUtil.getBytes(right));
                right.release();
                assertThat(pair.server.messages).isEmpty();
                assertThat(pair.clientConnection().creditsGranted()).isEqualTo(64);
                assertThat(pair.serverConnection().value(RpcRdmaCounter.DUPLICATES_REPLAYED))
                        .isEqualTo(attempt == 0 ? 0 : 1);
            }
        }
    }

    /** The same call, inline and in Read chunks: how it has come says nothing about what it is. */
    @ParameterizedTest
    @CsvSource({"8192, 4096, false", "8192, 4096, true", "4096, 8192, false", "4096, 8192, true"})
    @Proves("V1-ERR-22")
    void aCallIsTheSameHoweverItComes(int firstSize, int secondSize, boolean areAnnotated)
            throws Exception {
        CodecEnd server =
                CodecEnd.of(
                        RpcPair.usual()
                                .sendSize(8192)
                                .receiveSize(8192)
                                .annotatedCalls(areAnnotated)
                                .build(),
                        coveringAll());
        byte[] data = Rpc.random(5001);
        for (int size : new int[] {firstSize, secondSize}) {
            RpcRdmaConfig client = RpcPair.usual().sendSize(size).receiveSize(size).build();
            try (RpcPair pair = serve(client, server)) {
                pair.call(Rpc.write3(7, data)).sync();
                if (size == firstSize) {
                    ReferenceCountUtil.release(pair.server.take());
                    pair.reply(Rpc.reply(7).writeInt(0));
                }
                assertThat(pair.client.takeBytes()).hasSize(28);
                assertThat(pair.serverConnection().value(RpcRdmaCounter.DUPLICATES_REPLAYED))
                        .isEqualTo(size == firstSize ? 0 : 1);
                assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_CALLS))
                        .isEqualTo(size == 4096 ? 1 : 0);
                assertThat(pair.server.messages).isEmpty();
            }
        }
    }

    @Test
    @Proves("V1-ERR-22")
    void duplicateWaitsForTheHandlerThatIsAtWork() throws Exception {
        CodecEnd server = caching();
        try (RpcPair first = serve(server);
                RpcPair second = serve(server)) {
            first.call(Form.WRITE_CHUNK.call(7));
            assertThat(first.server.takeXid()).isEqualTo(7);
            second.call(Form.WRITE_CHUNK.call(7));
            second.awaitValue(RpcRdmaCounter.DUPLICATES_WAITING, 1);
            ByteBuf right = Form.WRITE_CHUNK.reply(7);
            byte[] bytes = ByteBufUtil.getBytes(right);
            first.reply(right);
            assertThat(first.client.takeBytes()).isEqualTo(bytes);
            assertThat(second.client.takeBytes()).isEqualTo(bytes);
            assertThat(second.server.messages).isEmpty();
        }
    }

    @Test
    @Proves("V1-ERR-22")
    void duplicateIsExecutedWhenTheFirstEventLoopEnds() throws Exception {
        CodecEnd server = caching();
        try (RpcPair second = serve(server)) {
            try (RpcPair first = serve(server)) {
                first.call(Form.READ_CHUNK.call(7));
                assertThat(first.server.takeXid()).isEqualTo(7);
                second.call(Form.READ_CHUNK.call(7));
                second.awaitValue(RpcRdmaCounter.DUPLICATES_WAITING, 1);
            }
            ByteBuf right = Form.READ_CHUNK.call(7);
            assertThat(second.server.takeBytes()).isEqualTo(ByteBufUtil.getBytes(right));
            right.release();
            second.reply(Rpc.reply(7));
            assertThat(second.client.takeXid()).isEqualTo(7);
            // And it is this reply that is remembered.
            try (RpcPair third = serve(server)) {
                third.call(Form.READ_CHUNK.call(7));
                assertThat(third.client.takeBytes()).hasSize(24);
            }
        }
    }

    @Test
    void waitersWithdraw() {
        begin(1);
        begin(1);
        NotedWaiter other = new NotedWaiter();
        cache.begin(call(1), other);
        cache.withdraw(call(1), waiter);
        cache.withdraw(call(2), waiter);
        done(1, 1);
        cache.withdraw(call(1), other);
        assertThat(waiter.told).isEmpty();
        assertThat(other.told).containsExactly("00");
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    @Proves("V1-ERR-22")
    void replyAfterTheConnectionIsLostIsRemembered(Form form) throws Exception {
        CodecEnd server = caching();
        int xid = form.xids() | 9;
        try (RpcPair first = serve(server);
                RpcPair second = serve(server)) {
            first.call(form.call(xid));
            assertThat(first.server.takeXid()).isEqualTo(xid);
            lose(first);
            ByteBuf reply = form.reply(xid);
            assertThat(answerLate(first, reply).cause()).isInstanceOf(ClosedChannelException.class);
            assertThat(reply.refCnt()).isZero();
            second.call(form.call(xid));
            assertThat(second.client.takeBytes()).isEqualTo(bytes(form.reply(xid)));
            assertThat(second.server.messages).isEmpty();
        }
    }

    @Test
    void annotatedReplyAfterTheConnectionIsLostIsRememberedWhole() throws Exception {
        CodecEnd server = caching();
        try (RpcPair first = serve(server);
                RpcPair second = serve(server)) {
            first.call(Form.WRITE_CHUNK.call(7));
            assertThat(first.server.takeXid()).isEqualTo(7);
            lose(first);
            byte[] whole = bytes(Form.WRITE_CHUNK.reply(7));
            int position = 24 + 4 + 4 + 84 + 4 + 4 + 4; // of the data in READ3resok
            int length = Unpooled.wrappedBuffer(whole).getInt(position - 4);
            ByteBuf data = Unpooled.directBuffer().writeBytes(whole, position, length);
            ByteBuf payload = Unpooled.buffer().writeBytes(whole, 0, position);
            answerLate(first, new RpcMessage(payload).addItem(position, data));
            second.call(Form.WRITE_CHUNK.call(7));
            assertThat(second.client.takeBytes()).isEqualTo(whole);
            assertThat(second.server.messages).isEmpty();
            assertThat(data.refCnt() + payload.refCnt()).isZero();
        }
    }

    @Test
    @Proves("V1-ERR-22")
    void duplicateGetsTheReplyThatComesAfterTheFirstConnectionIsLost() throws Exception {
        CodecEnd server = caching();
        try (RpcPair first = serve(server);
                RpcPair second = serve(server)) {
            first.call(Form.READ_CHUNK.call(7));
            assertThat(first.server.takeXid()).isEqualTo(7);
            lose(first);
            second.call(Form.READ_CHUNK.call(7));
            second.awaitValue(RpcRdmaCounter.DUPLICATES_WAITING, 1);
            // Neither a reply of another call nor garbage is taken for the one that is waited for.
            answerLate(first, Rpc.reply(8));
            answerLate(first, Unpooled.buffer().writeInt(7));
            answerLate(first, Rpc.echo(7, 8));
            answerLate(first, "a string");
            answerLate(first, Form.READ_CHUNK.reply(7));
            assertThat(second.client.takeBytes()).isEqualTo(bytes(Form.READ_CHUNK.reply(7)));
            assertThat(second.server.messages).isEmpty();
        }
    }

    @Test
    void replyThatIsWrittenInChannelInactiveIsRemembered() throws Exception {
        CodecEnd server = caching();
        try (RpcPair first = serve(server);
                RpcPair second = serve(server)) {
            first.serverChannel
                    .pipeline()
                    .addBefore(
                            first.serverChannel.pipeline().context(first.server).name(),
                            null,
                            new ChannelInboundHandlerAdapter() {
                                @Override
                                public void channelInactive(ChannelHandlerContext ctx) {
                                    ctx.writeAndFlush(Rpc.reply(7));
                                    ctx.fireChannelInactive();
                                }
                            });
            first.call(Form.SHORT.call(7));
            assertThat(first.server.takeXid()).isEqualTo(7);
            lose(first);
            second.call(Form.SHORT.call(7));
            assertThat(second.client.takeBytes()).isEqualTo(bytes(Rpc.reply(7)));
            assertThat(second.server.messages).isEmpty();
        }
    }

    @Test
    @Proves("V1-ERR-22")
    void duplicateIsExecutedWhenNoLateReplyComes() throws Exception {
        CodecEnd server = caching(1);
        try (RpcPair first = serve(server);
                RpcPair second = serve(server)) {
            first.call(Form.READ_CHUNK.call(7));
            assertThat(first.server.takeXid()).isEqualTo(7);
            lose(first);
            second.call(Form.READ_CHUNK.call(7));
            assertThat(second.server.takeBytes()).isEqualTo(bytes(Form.READ_CHUNK.call(7)));
            // Too late: it is the other execution's answer that counts.
            answerLate(first, Rpc.reply(7));
            second.reply(Form.READ_CHUNK.reply(7));
            assertThat(second.client.takeBytes()).isEqualTo(bytes(Form.READ_CHUNK.reply(7)));
        }
    }

    /** Nobody answers it any more: it is executed if it waits, and if it comes later. */
    @ParameterizedTest
    @CsvSource({
        "false, false, false",
        "false, false, true",
        "false, true, false",
        "false, true, true",
        "true, false, false",
        "true, false, true",
        "true, true, false",
        "true, true, true"
    })
    @Proves("V1-ERR-22")
    void aCallThatIsDroppedIsExecutedWhenItComesAgain(
            boolean isLost, boolean isByAnotherThread, boolean isWaiting) throws Exception {
        BlockingQueue<RpcServerCall> served = new LinkedBlockingQueue<>();
        RpcProgram program = RpcProgram.builder(Rpc.NFS).procedure(3, 1, served::add).build();
        CodecEnd server = caching();
        try (RpcPair first = serve(server);
                RpcPair second = serve(server)) {
            ChannelPipeline pipeline = first.serverChannel.pipeline();
            String before = pipeline.context(first.server).name();
            pipeline.addBefore(before, null, new RpcServerHandler(program));
            RpcPair.settle(first.serverChannel);
            first.call(Form.SHORT.call(7));
            RpcServerCall call = served.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (isLost) {
                lose(first);
            }
            if (isWaiting) {
                second.call(Form.SHORT.call(7));
                second.awaitValue(RpcRdmaCounter.DUPLICATES_WAITING, 1);
            }
            if (isByAnotherThread) {
                call.drop();
            } else {
                RpcPair.on(call.channel().eventLoop(), call::drop);
            }
            if (!isWaiting) {
                RpcPair.settle(first.serverChannel);
                second.call(Form.SHORT.call(7));
            }
            assertThat(second.server.takeXid()).isEqualTo(7);
            second.reply(Rpc.reply(7));
            assertThat(second.client.takeXid()).isEqualTo(7);
        }
    }

    @Test
    void waitingCallThatGoesAwayLeavesNothing() throws Exception {
        CodecEnd server = caching();
        try (RpcPair first = serve(server)) {
            first.call(Form.SHORT.call(7));
            assertThat(first.server.takeXid()).isEqualTo(7);
            try (RpcPair second = serve(server)) {
                second.call(Form.SHORT.call(7));
                second.awaitValue(RpcRdmaCounter.DUPLICATES_WAITING, 1);
            }
            first.reply(Rpc.reply(7));
            assertThat(first.client.takeXid()).isEqualTo(7);
        }
        try (RpcPair third = serve(server)) {
            third.call(Form.SHORT.call(7));
            assertThat(third.client.takeXid()).isEqualTo(7);
        }
    }

    /** The cache copies it to the heap; registered memory is for what the device sees. */
    @Test
    void aReplyInPartsIsRememberedWithoutRegisteredMemory() throws Exception {
        AtomicLong registered = new AtomicLong();
        AtomicReference<RdmaChannel> channel = new AtomicReference<>();
        DuplicateRequestCache cache =
                new ForwardingCache(coveringAll()) {
                    @Override
                    public void done(Call call, ByteBuf reply) {
                        registered.set(channel.get().registeredBytesInUse());
                        super.done(call, reply);
                    }
                };
        try (RpcPair pair = serve(CodecEnd.of(RpcPair.usual().build(), cache))) {
            channel.set(pair.serverChannel);
            pair.call(Form.WRITE_CHUNK.call(7));
            assertThat(pair.server.takeXid()).isEqualTo(7);
            byte[] whole = bytes(Form.WRITE_CHUNK.reply(7));
            int position = 24 + 4 + 4 + 84 + 4 + 4 + 4; // of the data in READ3resok
            int length = Unpooled.wrappedBuffer(whole).getInt(position - 4);
            ByteBuf data = Unpooled.directBuffer().writeBytes(whole, position, length);
            ByteBuf payload = Unpooled.buffer().writeBytes(whole, 0, position);
            RpcMessage reply = new RpcMessage(payload).addItem(position, data);
            long before =
                    RpcPair.on(
                            pair.serverChannel,
                            () -> {
                                long inUse = pair.serverChannel.registeredBytesInUse();
                                pair.serverChannel.writeAndFlush(reply);
                                return inUse;
                            });
            assertThat(registered).hasValue(before);
            assertThat(pair.client.takeBytes()).isEqualTo(whole);
            RpcPair.settle(pair.serverChannel);
            assertThat(payload.refCnt()).isZero();
            try (RpcPair second = serve(CodecEnd.of(RpcPair.usual().build(), cache))) {
                second.call(Form.WRITE_CHUNK.call(7));
                assertThat(second.client.takeBytes()).isEqualTo(whole);
            }
        }
    }

    /** They differ behind the longest name that a client may give in AUTH_SYS. */
    @Test
    @Proves("V1-ERR-22")
    void callsThatDifferInTheirArgumentsAreNotTakenForOneAnother() throws Exception {
        try (RpcPair pair = serve(caching())) {
            for (int file = 1; file <= 2; file++) {
                ByteBuf call = Unpooled.buffer().writeInt(7).writeInt(0).writeInt(2);
                call.writeInt(Rpc.NFS).writeInt(3).writeInt(2).writeInt(1).writeInt(276);
                call.writeInt(0).writeInt(255).writeZero(256).writeZero(12); // AUTH_SYS
                pair.call(call.writeLong(0).writeZero(252).writeInt(file));
                assertThat(pair.server.takeXid()).isEqualTo(7);
                pair.reply(Rpc.reply(7));
                assertThat(pair.client.takeXid()).isEqualTo(7);
            }
        }
    }

    /** A message that nobody else can get a reference to: what is delivered in parts has to be. */
    private static final class Saturated {
        private final ByteBuf message;
        private int references;

        Saturated(ByteBuf message) {
            this.message = message;
            for (int more = 1 << 30; more > 0; more >>= 1) {
                try {
                    message.retain(more);
                    references += more;
                } catch (IllegalReferenceCountException full) {
                    assertThat(message.refCnt()).isPositive(); // goes on with fewer
                }
            }
        }

        void release() {
            message.release(references);
            assertThat(message.refCnt()).isZero();
        }
    }

    private static CodecEnd cachingInParts(DuplicateRequestCache cache) {
        return CodecEnd.of(RpcPair.usual().annotatedCalls(true).build(), cache);
    }

    private static BoundedDuplicateRequestCache coveringAll() {
        return new BoundedDuplicateRequestCache(
                100, 1 << 20, 10 << 20, (program, version, procedure) -> true);
    }

    private static Saturated saturate(RpcPair pair, int xid) {
        return new Saturated(pair.serverConnection().responder().call(xid).request.message);
    }

    private static void takeSystemError(RpcPair pair) throws Exception {
        byte[] reply = pair.client.takeBytes();
        assertThat(reply).hasSize(24).endsWith(0, 0, 0, OncRpcHeaderDecoder.SYSTEM_ERR);
    }

    /** It was begun in the cache, and no handler has seen it. */
    @Test
    @Proves("V1-ERR-22")
    void aCallThatFailsBeforeItsHandlerIsExecutedWhenItComesAgain() throws Exception {
        AtomicReference<Runnable> begun = new AtomicReference<>();
        BoundedDuplicateRequestCache real = coveringAll();
        DuplicateRequestCache cache =
                new ForwardingCache(real) {
                    @Override
                    public Lookup begin(Call call, DuplicateRequestCache.Waiter waiter) {
                        Lookup found = super.begin(call, waiter);
                        Runnable next = begun.getAndSet(null);
                        if (next != null) {
                            next.run();
                        }
                        return found;
                    }
                };
        try (RpcPair pair = serve(cachingInParts(cache))) {
            AtomicReference<Saturated> saturated = new AtomicReference<>();
            begun.set(() -> saturated.set(saturate(pair, 7)));
            pair.call(Form.READ_CHUNK.call(7));
            takeSystemError(pair);
            RpcPair.settle(pair.serverChannel);
            saturated.get().release();
            pair.call(Form.READ_CHUNK.call(7));
            ReferenceCountUtil.release(pair.server.take());
            assertThat(pair.serverConnection().value(RpcRdmaCounter.DUPLICATES_WAITING)).isZero();
            pair.reply(Rpc.reply(7));
            assertThat(pair.client.takeXid()).isEqualTo(7);
        }
    }

    /** The first connection is lost, and the one who takes the call over fails too: it is answered all the same. */
    @Test
    @Proves("V1-ERR-22")
    void aDuplicateThatFailsBeforeItsHandlerIsAnswered() throws Exception {
        CodecEnd server = cachingInParts(coveringAll());
        try (RpcPair second = serve(server)) {
            Saturated saturated;
            try (RpcPair first = serve(server)) {
                first.call(Form.READ_CHUNK.call(7));
                ReferenceCountUtil.release(first.server.take());
                second.call(Form.READ_CHUNK.call(7));
                second.awaitValue(RpcRdmaCounter.DUPLICATES_WAITING, 1);
                saturated = RpcPair.on(second.serverChannel, () -> saturate(second, 7));
            }
            takeSystemError(second);
            RpcPair.settle(second.serverChannel);
            saturated.release();
            second.call(Form.READ_CHUNK.call(7));
            ReferenceCountUtil.release(second.server.take());
        }
    }

    private static class ForwardingCache implements DuplicateRequestCache {
        private final DuplicateRequestCache real;

        ForwardingCache(DuplicateRequestCache real) {
            this.real = real;
        }

        @Override
        public boolean covers(int program, int version, int procedure) {
            return real.covers(program, version, procedure);
        }

        @Override
        public Lookup begin(Call call, DuplicateRequestCache.Waiter waiter) {
            return real.begin(call, waiter);
        }

        @Override
        public void done(Call call, ByteBuf reply) {
            real.done(call, reply);
        }

        @Override
        public void abandon(Call call) {
            real.abandon(call);
        }

        @Override
        public void withdraw(Call call, DuplicateRequestCache.Waiter waiter) {
            real.withdraw(call, waiter);
        }
    }
}
