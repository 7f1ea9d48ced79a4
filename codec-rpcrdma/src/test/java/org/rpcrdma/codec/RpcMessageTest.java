// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.util.IllegalReferenceCountException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.codec.wire.TransportHeader;

/** Messages whose items have memory of their own, over the software RNIC. */
class RpcMessageTest {

    /** Where the data of {@link Rpc#write3} begins. */
    private static final int WRITE_POSITION = 92;

    /** Where the data of {@link Rpc#read3Reply} begins. */
    private static final int READ_POSITION = 128;

    private static RpcRdmaConfig fresh() {
        return RpcPair.usual().build();
    }

    private static RpcRdmaConfig annotating() {
        return RpcPair.usual().annotatedCalls(true).build();
    }

    /** A WRITE without its data. */
    private static ByteBuf reducedWrite(int xid, int length) {
        ByteBuf whole = Rpc.write3(xid, new byte[length]);
        return whole.writerIndex(WRITE_POSITION);
    }

    private static ByteBuf reducedReadReply(int xid, int length) {
        return Rpc.read3Reply(xid, new byte[length]).writerIndex(READ_POSITION);
    }

    private static ByteBuf direct(byte[] data) {
        return Unpooled.directBuffer(data.length).writeBytes(data);
    }

    private static byte[] bytes(ByteBuf whole) {
        return Rpc.bytes(whole);
    }

    @ParameterizedTest
    @CsvSource({
        "false, 65536, 65536",
        "true, 65536, 65536",
        "false, 65536, 5001",
        "false, 100, 100",
        "true, 8192, 1",
        "false, 8192, 0"
    })
    @Proves({"API-05", "API-12", "API-10", "V1-MR-05", "V1-WRITE-11", "V1-WRITE-19", "V1-WRITE-23"})
    void resultLandsInTheCallersMemory(boolean isRegistered, int offered, int length)
            throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            ByteBuf sink =
                    isRegistered
                            ? on(
                                    pair.clientChannel,
                                    () -> pair.clientChannel.registeredBuffer(3 + offered))
                            : Unpooled.directBuffer(3 + offered, 3 + offered);
            sink.writeZero(3).skipBytes(1);
            long address = sink.memoryAddress();
            sink.retain();
            pair.call(new RpcMessage(Rpc.read3(7, offered)).addSink(sink));
            pair.server.takeBytes();
            assertThat(sink.refCnt()).isEqualTo(2);
            byte[] data = Rpc.random(length);
            pair.reply(Rpc.read3Reply(7, data)).sync();

            RpcMessage reply = (RpcMessage) pair.client.take();
            assertThat(reply.content().readableBytes()).isEqualTo(READ_POSITION);
            assertThat(reply.sinks()).isEqualTo(1);
            assertThat(reply.sinkLength(0)).isEqualTo(length);
            assertThat(reply.sinkPosition(0)).isEqualTo(READ_POSITION);
            // The same memory, where the caller said, and nothing in front of it has moved.
            assertThat(reply.sink(0)).isSameAs(sink);
            assertThat(reply.sink(0).memoryAddress()).isEqualTo(address);
            assertThat(sink.readerIndex()).isEqualTo(1);
            assertThat(sink.writerIndex()).isEqualTo(3 + length);
            assertThat(ByteBufUtil.getBytes(sink, 3, length)).isEqualTo(data);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.COPIED_BYTES)).isZero();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isEqualTo(length);
            reply.release();
            assertThat(sink.refCnt()).isEqualTo(1);
            sink.release();
        }
    }

    @Test
    @Proves({"API-12", "V1-WRITE-18", "V1-WRITE-16"})
    void unusedSinkComesBack() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            pair.call(
                    new RpcMessage(Rpc.read3(7, 8192)).addSink(Unpooled.directBuffer(8192, 8192)));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(7).writeInt(70).writeInt(0));
            RpcMessage reply = (RpcMessage) pair.client.take();
            assertThat(reply.content().readableBytes()).isEqualTo(32);
            assertThat(reply.sinkPosition(0)).isEqualTo(-1);
            assertThat(reply.sinkLength(0)).isZero();
            assertThat(reply.sink(0).isReadable()).isFalse();
            reply.release();
        }
    }

    @Test
    @Proves({"API-05", "V1-WRITE-12", "V1-WRITE-21"})
    void inlineSinkIsAnEmptyChunk() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), annotating())) {
            pair.call(new RpcMessage(Rpc.read3(7, 8192)).addInlineSink());
            RpcMessage call = (RpcMessage) pair.server.take();
            assertThat(call.resultChunks()).isEqualTo(1);
            assertThat(call.resultChunkLength(0)).isZero();
            assertThat(call.replyChunkLength()).isGreaterThan(8192);
            call.release();
            byte[] data = Rpc.random(8192);
            pair.reply(Rpc.read3Reply(7, data));
            RpcMessage reply = (RpcMessage) pair.client.take();
            assertThat(reply.sink(0)).isNull();
            assertThat(reply.sinkPosition(0)).isEqualTo(-1);
            assertThat(ByteBufUtil.getBytes(reply.content()))
                    .isEqualTo(bytes(Rpc.read3Reply(7, data)));
            reply.release();
        }
    }

    @Test
    @Proves({"API-03", "API-10", "V1-CHUNK-08", "V1-READ-08"})
    void argumentIsExposedItself() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(fresh(), fresh())) {
            byte[] data = Rpc.random(9001);
            ByteBuf argument = direct(data).retain();
            pair.call(new RpcMessage(reducedWrite(7, 9001)).addItem(WRITE_POSITION, argument));
            ByteBuf received = pair.server.takeBuffer();
            TransportHeader header = new TransportHeader();
            header.decodeFixed(received, 0);
            int payload = header.decodeLists(received, 16, received.writerIndex(), 9);
            assertThat(header.reads().segments()).isEqualTo(1);
            assertThat(header.reads().position(0)).isEqualTo(WRITE_POSITION);
            assertThat(header.reads().length(0)).isEqualTo(9001);
            assertThat(received.writerIndex() - payload).isEqualTo(WRITE_POSITION);
            received.release();
            // What the responder reads is this memory and no copy: a change after the Send shows.
            argument.setByte(9000, data[9000] ^ 0x55);
            ByteBuf pulled =
                    on(pair.serverChannel, () -> pair.serverChannel.registeredBuffer(9001));
            pulled.writerIndex(9001).readerIndex(0).retain();
            pair.reply(new RdmaRead(pulled, header.reads().handle(0), header.reads().offset(0)))
                    .get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            data[9000] ^= 0x55;
            assertThat(ByteBufUtil.getBytes(pulled, 0, 9001)).isEqualTo(data);
            pulled.release();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.COPIED_BYTES)).isZero();
            assertThat(argument.refCnt()).isEqualTo(2);
            pair.reply(
                    Unpooled.buffer()
                            .writeInt(7)
                            .writeInt(1)
                            .writeInt(8)
                            .writeZero(16)
                            .writeBytes(Rpc.reply(7)));
            RpcMessage reply = (RpcMessage) pair.client.take();
            assertThat(reply.content().readableBytes()).isEqualTo(24);
            reply.release();
            assertThat(argument.refCnt()).isEqualTo(1);
            argument.release();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 500, 3976, 3977, 5003, 70_000})
    @Proves({"API-03", "API-04", "V1-READ-03", "V1-READ-14", "V1-READ-17"})
    void writeArrivesWholeOrApart(int length) throws Exception {
        for (boolean isApart : new boolean[] {false, true}) {
            try (RpcPair pair = RpcPair.of(fresh(), isApart ? annotating() : fresh())) {
                byte[] data = Rpc.random(length);
                RpcMessage message =
                        new RpcMessage(reducedWrite(7, length))
                                .addItem(WRITE_POSITION, direct(data));
                pair.call(message);
                boolean isReduced =
                        pair.clientConnection() != null
                                && WRITE_POSITION + ((length + 3) & ~3) + 28 > 4096;
                byte[] whole = bytes(Rpc.write3(7, data));
                if (isApart) {
                    RpcMessage call = (RpcMessage) pair.server.take();
                    assertThat(call.items()).isEqualTo(isReduced ? 1 : 0);
                    assertThat(call.resultChunks()).isZero();
                    if (isReduced) {
                        assertThat(call.itemPosition(0)).isEqualTo(WRITE_POSITION);
                        assertThat(ByteBufUtil.getBytes(call.item(0))).isEqualTo(data);
                        assertThat(ByteBufUtil.getBytes(call.content()))
                                .isEqualTo(Arrays.copyOf(whole, WRITE_POSITION));
                    } else {
                        assertThat(ByteBufUtil.getBytes(call.content())).isEqualTo(whole);
                    }
                    call.release();
                } else {
                    assertThat(pair.server.takeBytes()).isEqualTo(whole);
                }
                assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_CALLS))
                        .isEqualTo(isReduced ? 1 : 0);
                pair.reply(Rpc.reply(7));
                ((RpcMessage) pair.client.take()).release();
                assertThat(message.refCnt()).isZero();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"V1-READ-21", "V1-LONG-10", "API-04"})
    void positionZeroChunkTogetherWithAnItem(boolean isApart) throws Exception {
        List<BlobBinding> bindings = List.of(new BlobBinding());
        RpcRdmaConfig requester = RpcPair.usual().bindings(bindings).build();
        RpcRdmaConfig responder =
                RpcPair.usual().bindings(bindings).annotatedCalls(isApart).build();
        try (RpcPair pair = RpcPair.of(requester, responder)) {
            byte[] data = Rpc.random(20_001);
            byte[] whole = bytes(BlobBinding.call(BlobBinding.GET, 0, 5000, data));
            int position = whole.length - 20_004;
            ByteBuf payload = Unpooled.directBuffer().writeBytes(whole, 0, position);
            pair.call(new RpcMessage(payload).addItem(position, direct(data)));
            if (isApart) {
                RpcMessage call = (RpcMessage) pair.server.take();
                assertThat(ByteBufUtil.getBytes(call.content()))
                        .isEqualTo(Arrays.copyOf(whole, position));
                assertThat(call.itemPosition(0)).isEqualTo(position);
                assertThat(ByteBufUtil.getBytes(call.item(0))).isEqualTo(data);
                call.release();
            } else {
                assertThat(pair.server.takeBytes()).isEqualTo(whole);
            }
            assertThat(pair.clientConnection().value(RpcRdmaCounter.LONG_CALLS)).isEqualTo(1);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.COPIED_BYTES)).isZero();
            pair.reply(Rpc.reply(0));
            ((RpcMessage) pair.client.take()).release();
        }
    }

    @Test
    @Proves({"API-03", "V1-MR-07"})
    void itemsThatTheDeviceCannotUseAreCopied() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            byte[] data = Rpc.random(6000);
            CompositeByteBuf pieces = Unpooled.compositeBuffer();
            pieces.addComponent(true, Unpooled.copiedBuffer(data, 0, 3000));
            pieces.addComponent(true, direct(Arrays.copyOfRange(data, 3000, 6000)));
            pair.call(new RpcMessage(reducedWrite(7, 6000)).addItem(WRITE_POSITION, pieces));
            assertThat(pair.server.takeBytes()).isEqualTo(bytes(Rpc.write3(7, data)));
            assertThat(pair.clientConnection().value(RpcRdmaCounter.COPIED_BYTES)).isEqualTo(6000);
            pair.reply(Rpc.reply(7));
            ((RpcMessage) pair.client.take()).release();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    @Proves({"API-09", "V1-GSS-02", "V1-GSS-03"})
    void gssPutsItemsIntoThePayload(int service) throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            ByteBuf payload = Rpc.gssCall(7, Rpc.WRITE, service).writeBytes(Rpc.random(40));
            byte[] data = Rpc.random(9000);
            byte[] whole = ByteBufUtil.getBytes(payload.copy().writeBytes(data));
            pair.call(
                    new RpcMessage(payload)
                            .addItem(payload.readableBytes(), direct(data))
                            .addSink(Unpooled.directBuffer(9000, 9000)));
            assertThat(pair.server.takeBytes()).isEqualTo(whole);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_CALLS)).isZero();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_CHUNK_CALLS)).isZero();
            pair.reply(Rpc.reply(7).writeBytes(Rpc.random(9000)));
            RpcMessage reply = (RpcMessage) pair.client.take();
            assertThat(reply.content().readableBytes()).isEqualTo(9024);
            assertThat(reply.sinkPosition(0)).isEqualTo(-1);
            reply.release();
        }
    }

    /** They go with the payload, which is copied for that. */
    @Test
    @Proves("API-13")
    void itemsThatCannotBeCopiedCostNoRegisteredMemory() throws Exception {
        RpcRdmaConfig responder = RpcPair.usual().annotatedCalls(true).build();
        try (RpcPair pair = RpcPair.of(fresh(), responder)) {
            ByteBuf payload = Rpc.gssCall(7, Rpc.WRITE, 2).writeBytes(Rpc.random(40));
            RpcMessage call =
                    new RpcMessage(payload)
                            .addItem(payload.readableBytes(), UncopiedBuffer.of(9000));
            assertCostsNothing(pair.clientChannel, call);
            pair.call(Rpc.echo(9, 8)).sync();
            ((RpcMessage) pair.server.take()).release();
            RpcMessage reply = new RpcMessage(Rpc.reply(9)).addItem(24, UncopiedBuffer.of(9000));
            assertCostsNothing(pair.serverChannel, reply);
        }
    }

    private static void assertCostsNothing(RdmaChannel channel, RpcMessage message)
            throws Exception {
        long cost =
                on(
                        channel,
                        () -> {
                            long before = channel.registeredBytesInUse();
                            channel.write(message);
                            return channel.registeredBytesInUse() - before;
                        });
        assertThat(cost).isLessThan(9000);
        assertThat(message.refCnt()).isZero();
    }

    @Test
    @Proves({"V1-CHUNK-01", "V1-ERR-20", "API-13"})
    void itemsThatAreWrongFailTheCallAlone() throws Exception {
        RpcRdmaConfig small = RpcPair.usual().maxChunkBytes(4 << 20).build();
        try (RpcPair pair = RpcPair.of(small, fresh())) {
            assertFails(
                    pair,
                    new RpcMessage(reducedWrite(7, 9000))
                            .addItem(WRITE_POSITION - 4, direct(new byte[9000])),
                    DdpEligibilityException.class,
                    "position 88");
            assertFails(
                    pair,
                    new RpcMessage(Rpc.echo(7, 100)).addItem(140, direct(new byte[9000])),
                    DdpEligibilityException.class,
                    "position 140");
            assertFails(
                    pair,
                    new RpcMessage(reducedWrite(7, 9000))
                            .addItem(WRITE_POSITION, direct(new byte[8999])),
                    IllegalArgumentException.class,
                    "8999");
            assertFails(
                    pair,
                    new RpcMessage(reducedWrite(7, 9000))
                            .addItem(WRITE_POSITION + 4, direct(new byte[9000])),
                    IllegalArgumentException.class,
                    "92 bytes");
            assertFails(
                    pair,
                    new RpcMessage(reducedWrite(7, 9000).writerIndex(80))
                            .addItem(80, direct(new byte[9000])),
                    DdpEligibilityException.class,
                    "position 80");
            assertFails(
                    pair,
                    new RpcMessage(reducedWrite(7, 5 << 20))
                            .addItem(
                                    WRITE_POSITION,
                                    Unpooled.directBuffer(5 << 20).writeZero(5 << 20)),
                    CallTooLongException.class,
                    "maxChunkBytes");
            assertThat(pair.clientConnection().callsInFlight()).isZero();
            pair.call(Rpc.echo(8, 8));
            assertThat(pair.server.takeXid()).isEqualTo(8);
        }
    }

    private static void assertFails(
            RpcPair pair, RpcMessage call, Class<? extends Throwable> type, String words) {
        assertThatThrownBy(() -> pair.call(call).sync())
                .isInstanceOf(type)
                .hasMessageContaining(words);
        assertThat(call.refCnt()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"65536, 65536, true", "8192, 5001, true", "8192, 0, true", "2000, 2000, false"})
    @Proves({"API-04", "API-06", "V1-WRITE-03", "V1-WRITE-09"})
    void responderRepliesWithAnItem(int count, int length, boolean hasChunk) throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), annotating())) {
            pair.call(Rpc.read3(7, count));
            RpcMessage call = (RpcMessage) pair.server.take();
            assertThat(call.resultChunks()).isEqualTo(hasChunk ? 1 : 0);
            if (hasChunk) {
                assertThat(call.resultChunkLength(0)).isEqualTo(count);
            }
            call.release();
            byte[] data = Rpc.random(length);
            RpcMessage reply =
                    new RpcMessage(reducedReadReply(7, length))
                            .addItem(READ_POSITION, direct(data));
            pair.reply(reply).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(bytes(Rpc.read3Reply(7, data)));
            assertThat(pair.serverConnection().value(RpcRdmaCounter.WRITE_BYTES_SENT))
                    .isEqualTo(hasChunk ? length : 0);
            RpcPair.settle(pair.serverChannel);
            assertThat(reply.refCnt()).isZero();
        }
    }

    @Test
    @Proves({"API-06", "V1-CHUNK-01", "V1-WRITE-24"})
    void responderMayNotPlaceWhatIsNotEligible() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            pair.call(Rpc.read3(7, 8192));
            pair.server.takeBytes();
            RpcMessage wrong =
                    new RpcMessage(reducedReadReply(7, 5000))
                            .addItem(READ_POSITION - 4, direct(new byte[5000]));
            assertThatThrownBy(() -> pair.reply(wrong).sync())
                    .isInstanceOf(DdpEligibilityException.class);
            assertThat(wrong.refCnt()).isZero();
            RpcMessage cut =
                    new RpcMessage(reducedReadReply(7, 5000).writerIndex(60))
                            .addItem(60, direct(new byte[5000]));
            assertThatThrownBy(() -> pair.reply(cut).sync())
                    .isInstanceOf(DdpEligibilityException.class);
            assertThat(cut.refCnt()).isZero();
            RpcMessage beyond = new RpcMessage(Rpc.reply(7)).addItem(400, direct(new byte[5000]));
            assertThatThrownBy(() -> pair.reply(beyond).sync())
                    .isInstanceOf(IllegalArgumentException.class);
            // The call is still to be answered: now with more than its chunk takes.
            ChannelFuture late =
                    pair.reply(
                            new RpcMessage(reducedReadReply(7, 8193))
                                    .addItem(READ_POSITION, direct(new byte[8193])));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            assertThatThrownBy(late::sync).isInstanceOf(OutboundReplyTooLongException.class);
        }
    }

    @Test
    @Proves({"API-07", "V1-REPLY-03"})
    void maximumReplySizesTheReplyChunk() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), annotating())) {
            pair.call(new RpcMessage(Rpc.echo(7, 8)).maximumReply(100_001));
            RpcMessage call = (RpcMessage) pair.server.take();
            assertThat(call.replyChunkLength()).isEqualTo(100_004);
            call.release();
            pair.reply(Rpc.reply(7).writeZero(90_000));
            RpcMessage reply = (RpcMessage) pair.client.take();
            assertThat(reply.content().readableBytes()).isEqualTo(90_024);
            reply.release();
            pair.call(new RpcMessage(Rpc.echo(8, 8)).maximumReply(200));
            call = (RpcMessage) pair.server.take();
            assertThat(call.replyChunkLength()).isZero();
            call.release();
        }
    }

    @Test
    @Proves({"V1-MR-03", "V1-CRED-16", "SEC-13"})
    void cancelThatFencesGivesItemsAndSinksBack() throws Exception {
        RpcRdmaConfig plain = RpcPair.usual().remoteInvalidation(false).build();
        try (RpcPair pair = RpcPair.of(plain, fresh())) {
            ByteBuf sink = Unpooled.directBuffer(8192, 8192).retain();
            pair.call(new RpcMessage(Rpc.read3(7, 8192)).addSink(sink));
            pair.server.takeBytes();
            pair.call(new RpcRdmaCancel(7)).sync();
            assertThat(sink.refCnt()).isEqualTo(1);
            sink.setZero(0, 8192);
            pair.reply(Rpc.reply(7).writeInt(70).writeInt(0)); // late, and dropped
            pair.call(Rpc.echo(8, 8));
            assertThat(pair.server.takeXid()).isEqualTo(8);
            sink.release();
        }
    }

    /** His mistake costs the call, and neither the memory of its other results nor the connection. */
    @Test
    void sinkThatItsCallerHasReleasedFailsTheCallAndLeaksNothing() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            ByteBuf sink = Unpooled.directBuffer(8192, 8192).retain();
            ByteBuf released = Unpooled.directBuffer(8192, 8192);
            pair.call(new RpcMessage(Rpc.read3(7, 8192)).addSink(sink).addSink(released));
            pair.server.takeBytes();
            released.release();
            pair.reply(Rpc.read3Reply(7, Rpc.random(8192)));
            CallFailureMessage failure = (CallFailureMessage) pair.client.take();
            assertThat(failure.cause()).isInstanceOf(LocalReplyDecodeException.class);
            assertThat(sink.refCnt()).isEqualTo(1);
            sink.release();
            pair.call(Rpc.echo(8, 8));
            assertThat(pair.server.takeXid()).isEqualTo(8);
            pair.reply(Rpc.reply(8));
            assertThat(pair.client.takeXid()).isEqualTo(8);
        }
    }

    @Test
    void referencesAreCounted() {
        ByteBuf payload = Rpc.echo(1, 8);
        ByteBuf item = direct(new byte[100]);
        ByteBuf sink = Unpooled.directBuffer(16, 16);
        RpcMessage message = new RpcMessage(payload).addItem(92, item).addSink(sink);
        message.addInlineSink().maximumReply(1000);
        assertThat(message.refCnt()).isEqualTo(1);
        RpcMessage duplicate = message.retainedDuplicate();
        assertThat(message.refCnt()).isEqualTo(2);
        assertThat(duplicate.release()).isFalse();
        RpcMessage copy = message.copy();
        assertThat(item.refCnt()).isEqualTo(2);
        assertThat(copy.items()).isEqualTo(1);
        assertThat(copy.sinks()).isEqualTo(2);
        assertThat(copy.sink(1)).isNull();
        assertThat(copy.maximumReply()).isEqualTo(1000);
        assertThat(message.release()).isTrue();
        assertThat(payload.refCnt()).isZero();
        assertThat(item.refCnt()).isEqualTo(1);
        assertThatThrownBy(message::content).isInstanceOf(IllegalReferenceCountException.class);
        assertThat(copy.touch("hint").retain().release(2)).isTrue();
        assertThat(item.refCnt()).isZero();
        assertThat(sink.refCnt()).isZero();
    }

    @Test
    void mistakesAreNamed() {
        RpcMessage message = new RpcMessage(Rpc.echo(1, 8));
        ByteBuf heap = Unpooled.buffer(10);
        assertThatThrownBy(() -> message.addItem(42, heap)).hasMessageContaining("42");
        assertThatThrownBy(() -> message.addItem(16, heap)).hasMessageContaining("16");
        message.addItem(44, direct(new byte[5]));
        assertThatThrownBy(() -> message.addItem(48, heap)).hasMessageContaining("at 44");
        assertThatThrownBy(() -> message.addSink(heap)).hasMessageContaining("direct");
        ByteBuf readOnly =
                Unpooled.compositeBuffer().addComponent(direct(new byte[5]).asReadOnly());
        assertThatThrownBy(() -> message.addSink(readOnly)).hasMessageContaining("writable");
        readOnly.release();
        assertThatThrownBy(() -> message.maximumReply(23)).hasMessageContaining("23");
        assertThatThrownBy(() -> message.item(1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> message.sink(0)).isInstanceOf(IndexOutOfBoundsException.class);
        message.release();
        heap.release();
    }
}
