// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.stream.RsocketMessage.Kind;

/** What a peer may get wrong, and what a number may reach. */
class StreamRulesTest {

    private static final ReceiveBufferAddress BUFFER =
            new ReceiveBufferAddress(0xffff_ffff_ffff_0000L, 7, 100);
    private static final StreamPrivateData PEER = new StreamPrivateData(16, 0x1000, 9, 2, BUFFER);

    // ------------------------------------------------------------------ connection data

    @Test
    void connectionDataMayBeFollowedByZeros() throws Exception {
        byte[] padded = Arrays.copyOf(PEER.encode(), 56);
        assertThat(StreamPrivateData.decode(padded, false)).isEqualTo(PEER);
    }

    @Test
    void aPeerThatIsNoRsocketIsRefused() {
        assertRefused(new byte[0], "0 bytes of connection private data");
        assertRefused(Arrays.copyOf(PEER.encode(), 39), "39 bytes");
        assertRefused(with(0, 2), "version 2");
        assertRefused(with(1, 3), "big-endian");
        assertRefused(with(23, 1), "1 entries");
        assertRefused(with(20, 0x80), "entries");
        assertThat(PEER.bigEndianTable()).isFalse();
    }

    /** Over iWARP messages would be in the order of their senders; immediates have one for all. */
    @Test
    void aBigEndianTableIsForImmediatesAlone() throws Exception {
        StreamPrivateData peer = new StreamPrivateData(16, 0x1000, 9, 2, true, BUFFER);
        assertThat(peer.encode()).isEqualTo(with(1, 3));
        assertThat(StreamPrivateData.decode(peer.encode(), true)).isEqualTo(peer);
        ByteBuf entry = Unpooled.buffer(ReceiveBufferAddress.BYTES);
        ReceiveBufferAddress.putBigEndian(entry, 0, 0x0102030405060708L, 0x11121314, 0x21222324);
        assertThat(entry.array())
                .containsExactly(
                        1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24);
    }

    @Test
    void aPeerThatTakesNothingIsRefused() {
        assertRefused(new StreamPrivateData(0, 0, 0, 2, BUFFER).encode(), "0 credits");
        assertRefused(
                new StreamPrivateData(16, 0, 0, 2, new ReceiveBufferAddress(0, 0, 0)).encode(),
                "of 0 bytes");
    }

    private static byte[] with(int index, int value) {
        byte[] bytes = PEER.encode();
        bytes[index] = (byte) value;
        return bytes;
    }

    private static void assertRefused(byte[] bytes, String sentence) {
        assertThatThrownBy(() -> StreamPrivateData.decode(bytes, false))
                .isInstanceOf(StreamProtocolException.class)
                .hasMessageContaining(sentence);
    }

    // ------------------------------------------------------------------ messages

    @ParameterizedTest
    @ValueSource(ints = {0x2000_0000, 0x6000_0001, 0xa000_0000, 0xbfff_ffff})
    void reservedKinds(int message) {
        assertThat(RsocketMessage.kind(message)).isEqualTo(Kind.RESERVED);
    }

    @ParameterizedTest
    @ValueSource(ints = {0x4000_0000, 0xe000_0001, 0xe000_0003, 0xffff_ffff})
    void whatALaterVersionMayBringIsIgnored(int message) {
        assertThat(RsocketMessage.kind(message)).isEqualTo(Kind.IGNORED);
    }

    @Test
    void aLimitIsSentWithSixteenBits() {
        assertThat(RsocketMessage.sgl(65382 + 384)).isEqualTo(0x8000_00e6);
    }

    @Test
    void noDataMessageCountsNothingOrMoreThanItHolds() {
        assertThat(RsocketMessage.kind(RsocketMessage.data(RsocketMessage.MAX_DATA)))
                .isEqualTo(Kind.DATA);
        assertThatThrownBy(() -> RsocketMessage.data(0))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> RsocketMessage.data(RsocketMessage.MAX_DATA + 1))
                .isInstanceOf(IllegalArgumentException.class);
    }

    // ------------------------------------------------------------------ where data goes

    private final ByteBuf memory = Unpooled.buffer(PeerReceiveBufferTable.BYTES);
    private final PeerReceiveBufferTable table = new PeerReceiveBufferTable(memory);

    private void peerWrites(int index, long offset, int length) {
        ReceiveBufferAddress.put(memory, index * ReceiveBufferAddress.BYTES, offset, 5, length);
    }

    @Test
    void buffersAreFilledOneAfterTheOther() {
        table.open(BUFFER);
        peerWrites(1, 0x5000, 50);
        table.update();
        assertThat(table.addWritten(99)).isFalse();
        assertThat(table.offset()).isEqualTo(0xffff_ffff_ffff_0063L);
        assertThat(table.addWritten(1)).isTrue();
        assertThat(table.offset()).isEqualTo(0x5000);
        assertThat(table.key()).isEqualTo(5);
        assertThat(table.room()).isEqualTo(50);
        assertThat(table.addWritten(50)).isTrue();
        assertThat(table.room()).isZero();
        peerWrites(0, 0x6000, 0xffff_ffff);
        table.update();
        assertThat(table.offset()).isEqualTo(0x6000);
        assertThat(table.room()).isEqualTo(0xffff_ffffL);
    }

    @Test
    void anEntryCountsOnceItsMessageHasCome() {
        table.open(BUFFER);
        peerWrites(1, 0x5000, 50);
        table.addWritten(100);
        assertThat(table.room()).isZero();
        table.update();
        assertThat(table.room()).isEqualTo(50);
    }

    @Test
    void anEntryIsUsedOnceAndNotChangedWhileItIsInUse() {
        table.open(BUFFER);
        peerWrites(1, 0x5000, 50);
        table.update();
        peerWrites(1, 0x7777, 70);
        table.update();
        table.addWritten(100);
        assertThat(table.offset()).isEqualTo(0x5000);
        table.addWritten(50);
        table.update();
        assertThat(table.room()).describedAs("entry 0 was not written").isZero();
    }

    @Test
    void aMessageWithoutAnEntryBringsNoRoom() {
        table.open(BUFFER);
        table.addWritten(100);
        table.update();
        assertThat(table.room()).isZero();
    }

    /** The device writes the next entry while this end looks at the table for the message before it. */
    @Test
    void anEntryThatIsBeingWrittenIsReadWholeOrLater() {
        Runnable[] device = {() -> {}};
        ByteBuf written =
                new UnpooledHeapByteBuf(
                        UnpooledByteBufAllocator.DEFAULT,
                        PeerReceiveBufferTable.BYTES,
                        PeerReceiveBufferTable.BYTES) {
                    @Override
                    public long getLongLE(int index) {
                        long value = super.getLongLE(index);
                        device[0].run();
                        return value;
                    }

                    @Override
                    public int getIntLE(int index) {
                        int value = super.getIntLE(index);
                        device[0].run();
                        return value;
                    }
                };
        PeerReceiveBufferTable read = new PeerReceiveBufferTable(written);
        read.open(BUFFER);
        read.addWritten(100);
        device[0] = () -> ReceiveBufferAddress.put(written, 16, 0x5000, 5, 50);
        read.update();
        device[0] = () -> {};
        read.update();
        assertThat(read.room()).isEqualTo(50);
        assertThat(read.offset()).isEqualTo(0x5000);
        assertThat(read.key()).isEqualTo(5);
        written.release();
    }

    // ------------------------------------------------------------------ credits

    @Test
    void halfOfThePeersReceivesAreLeftForWhatNobodyCounts() throws Exception {
        SendCredits credits = new SendCredits(384);
        assertThat(credits.available()).isEqualTo(192);
        for (int i = 0; i < 192; i++) {
            credits.sent();
        }
        assertThat(credits.available()).isZero();
        credits.limit(384 + 192);
        assertThat(credits.available()).isEqualTo(192);
    }

    @Test
    void aPeerWithOneCreditCanBeSentTo() throws Exception {
        SendCredits credits = new SendCredits(1);
        assertThat(credits.available()).isEqualTo(1);
        credits.sent();
        assertThat(credits.available()).isZero();
        credits.limit(2);
        assertThat(credits.available()).isEqualTo(1);
    }

    @Test
    void limitsWrap() throws Exception {
        SendCredits send = new SendCredits(16);
        ReceiveCredits receive = new ReceiveCredits(16);
        for (int i = 0; i < 200_000; i++) {
            assertThat(send.available()).isPositive();
            send.sent();
            receive.received();
            if (receive.isDue()) {
                send.limit(RsocketMessage.value(RsocketMessage.sgl(receive.grant())));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 15, 16, 384, 65535})
    void aGrantIsDueBeforeTheReserveStopsTheSender(int window) throws Exception {
        SendCredits send = new SendCredits(window);
        ReceiveCredits receive = new ReceiveCredits(window);
        while (send.available() > 0) {
            send.sent();
            receive.received();
        }
        assertThat(receive.isDue()).isTrue();
    }

    @Test
    void aLimitThatWasNeverOfferedIsAnError() {
        SendCredits credits = new SendCredits(16);
        credits.sent();
        assertThatThrownBy(() -> credits.limit(18)).hasMessageContaining("at most 16 more");
        assertThatThrownBy(() -> credits.limit(0)).isInstanceOf(StreamProtocolException.class);
    }

    @Test
    void aMessageWithoutACreditIsAnError() throws Exception {
        ReceiveCredits credits = new ReceiveCredits(2);
        credits.received();
        credits.received();
        assertThatThrownBy(credits::received).hasMessageContaining("without a credit");
        credits.grant();
        credits.received();
    }

    // ------------------------------------------------------------------ what arrives

    @Test
    void dataStaysInsideOfTheBufferThatThePeerFills() throws Exception {
        PublishedReceiveBuffers buffers = new PublishedReceiveBuffers(100);
        buffers.open(PEER);
        assertThat(buffers.publish(50)).isEqualTo(0x1010);
        assertThatThrownBy(() -> buffers.publish(50)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> buffers.addReceived(101)).hasMessageContaining("1 to 100");
        assertThatThrownBy(() -> buffers.addReceived(0)).hasMessageContaining("0 bytes");
        assertThat(buffers.addReceived(99)).isFalse();
        assertThatThrownBy(() -> buffers.addReceived(2)).hasMessageContaining("1 to 1,");
        assertThat(buffers.addReceived(1)).isTrue();
        assertThat(buffers.publish(70)).isEqualTo(0x1000);
        assertThat(buffers.left()).isEqualTo(50);
        assertThat(buffers.addReceived(50)).isTrue();
        assertThat(buffers.addReceived(70)).isTrue();
        assertThatThrownBy(() -> buffers.addReceived(1)).hasMessageContaining("1 to 0");
    }

    @Test
    void aLongerTableIsWrittenInItsOrder() throws Exception {
        PublishedReceiveBuffers buffers = new PublishedReceiveBuffers(1);
        buffers.open(new StreamPrivateData(16, 0x1000, 9, 3, BUFFER));
        long[] offsets = new long[4];
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = buffers.publish(1);
            buffers.addReceived(1);
        }
        assertThat(offsets).containsExactly(0x1010, 0x1020, 0x1000, 0x1010);
    }

    // ------------------------------------------------------------------ the end

    @Test
    void noDataFollowsTheEndOfADirection() {
        StreamHalfCloseState shutdown = new StreamHalfCloseState();
        shutdown.shutdownReceived();
        assertThatThrownBy(shutdown::dataReceived).hasMessageContaining("SHUTDOWN");
        assertThat(shutdown.isOutputOver()).isFalse();
        StreamHalfCloseState disconnected = new StreamHalfCloseState();
        disconnected.disconnectReceived();
        assertThatThrownBy(disconnected::dataReceived).hasMessageContaining("DISCONNECT");
        assertThat(disconnected.isOutputOver()).isTrue();
        assertThat(disconnected.owesDisconnect()).isFalse();
    }

    @Test
    void aConnectionThatEndsWithoutAWordIsNotOrderly() {
        StreamHalfCloseState ends = new StreamHalfCloseState();
        assertThat(ends.isOrderly(true)).isFalse();
        ends.shutdownReceived();
        assertThat(ends.isOrderly(true)).isFalse();
        ends.shutdownSent();
        assertThat(ends.isOrderly(true)).isTrue();
    }
}
