// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.codec.RpcMessage;

/** RFC 4506: golden data, then any data, then any bytes. */
class XdrTest {

    private static final String GOLDEN =
            "fffffffe fffffffe 0102030405060708 00000001 00000000"
                    + " 00000003 61626300 00000005 c3a4c3b6 21000000 01020300 00000000";

    private static ByteBuf hex(String text) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(text.replace(" ", "")));
    }

    @Test
    void eachTypeIsWritten() {
        ByteBuf out = Unpooled.buffer();
        new XdrWriter(out)
                .writeInt(-2)
                .writeInt(-2)
                .writeLong(0x0102030405060708L)
                .writeBoolean(true)
                .writeBoolean(false)
                .writeOpaque(new byte[] {'a', 'b', 'c'})
                .writeString("äö!")
                .writeFixedOpaque(new byte[] {1, 2, 3})
                .write(value -> value.writeOpaque(Unpooled.EMPTY_BUFFER));
        assertThat(out).isEqualTo(hex(GOLDEN));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anItemWithoutMemoryForItsLengthIsReleased(boolean isInMessage) {
        ByteBuf full = Unpooled.buffer(2, 2);
        ByteBuf item = Unpooled.buffer().writeInt(1);
        XdrWriter out = isInMessage ? XdrWriter.ofMessage(full) : new XdrWriter(full);
        assertThatThrownBy(() -> out.writeItem(item)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(item.refCnt()).isZero();
        assertThat(full.refCnt()).isOne();
        full.release();
    }

    @Test
    void eachTypeIsRead() throws Exception {
        ByteBuf message = hex(GOLDEN);
        XdrReader in = new XdrReader(message);
        assertThat(in.readInt()).isEqualTo(-2);
        assertThat(in.readUnsignedInt()).isEqualTo(0xfffffffeL);
        assertThat(in.readLong()).isEqualTo(0x0102030405060708L);
        assertThat(in.readBoolean()).isTrue();
        assertThat(in.readBoolean()).isFalse();
        assertThat(in.readOpaque(3)).isEqualTo(new byte[] {'a', 'b', 'c'});
        assertThat(in.readString(5)).isEqualTo("äö!");
        assertThat(in.readFixedOpaque(3)).isEqualTo(new byte[] {1, 2, 3});
        ByteBuf slice = in.readOpaqueSlice(0);
        assertThat(slice.readableBytes()).isZero();
        assertThat(in.remaining()).isZero();
        slice.release();
    }

    @Test
    void aSliceSharesTheMessageAndIsCounted() throws Exception {
        ByteBuf message = hex("00000003 61626300 00000007");
        XdrReader in = new XdrReader(message);
        ByteBuf slice = in.readOpaqueSlice(3);
        message.setByte(4, 'x');
        assertThat(slice.toString(java.nio.charset.StandardCharsets.UTF_8)).isEqualTo("xbc");
        assertThat(in.readInt()).isEqualTo(7);
        assertThat(message.release()).isFalse();
        assertThat(slice.release()).isTrue();
    }

    @Test
    void whatIsTooLongOrUndefinedIsRefusedInOneSentence() {
        assertThatThrownBy(() -> new XdrReader(hex("00000004 61626364")).readOpaque(3))
                .isInstanceOf(MalformedXdrException.class)
                .hasMessage("opaque data of 4 bytes (expected: at most 3)");
        assertThatThrownBy(() -> new XdrReader(hex("ffffffff")).readString(Integer.MAX_VALUE))
                .hasMessage("opaque data of 4294967295 bytes (expected: at most 2147483647)");
        assertThatThrownBy(() -> new XdrReader(hex("7fffffff")).readOpaque(Integer.MAX_VALUE))
                .hasMessage("ends after 0 bytes (expected: 2147483648)");
        assertThatThrownBy(() -> new XdrReader(hex("00000003 616263")).readOpaqueSlice(3))
                .hasMessage("ends after 3 bytes (expected: 4)");
        assertThatThrownBy(() -> new XdrReader(hex("00000002")).readBoolean())
                .hasMessage("boolean 2 (expected: 0 or 1)");
        assertThatThrownBy(() -> new XdrReader(hex("00000003 00000000")).readCount(9, 4))
                .hasMessage("3 elements (expected: at most 9, and 1 fit)");
        assertThatThrownBy(() -> new XdrReader(hex("000000")).readInt())
                .hasMessage("ends after 3 bytes (expected: 4)");
    }

    @Test
    void anItemOfAMessageStaysApartAtItsPosition() {
        ByteBuf payload = Unpooled.buffer().writeZero(40);
        ByteBuf first = hex("0102030405");
        ByteBuf second = hex("06");
        XdrWriter out = XdrWriter.ofMessage(payload);
        out.writeInt(9).writeItem(first).writeInt(8).writeItem(second);
        RpcMessage message = (RpcMessage) out.message();
        assertThat(message.items()).isEqualTo(2);
        // 40 of the header, a word, the length; then the first with its round-up, a word, the
        // length.
        assertThat(message.itemPosition(0)).isEqualTo(48);
        assertThat(message.itemPosition(1)).isEqualTo(48 + 8 + 8);
        assertThat(message.item(0)).isSameAs(first);
        assertThat(payload.slice(40, 16)).isEqualTo(hex("00000009 00000005 00000008 00000001"));
        message.release();
        assertThat(first.refCnt() + second.refCnt() + payload.refCnt()).isZero();
    }

    @Test
    void anItemOfAPlainBufferIsCopiedAndReleased() {
        ByteBuf out = Unpooled.buffer();
        ByteBuf item = hex("0102030405");
        new XdrWriter(out).writeItem(item);
        assertThat(out).isEqualTo(hex("00000005 01020304 05000000"));
        assertThat(item.refCnt()).isZero();
    }

    @Property
    void anyDataComeBack(@ForAll long seed) throws Exception {
        Random random = new Random(seed);
        byte[] opaque = new byte[random.nextInt(50)];
        random.nextBytes(opaque);
        String text = "ü".repeat(random.nextInt(20));
        ByteBuf out = Unpooled.buffer();
        new XdrWriter(out).writeOpaque(opaque).writeString(text).writeLong(seed);
        assertThat(out.readableBytes() & 3).isZero();
        XdrReader in = new XdrReader(out);
        assertThat(in.readOpaque(50)).isEqualTo(opaque);
        assertThat(in.readString(40)).isEqualTo(text);
        assertThat(in.readLong()).isEqualTo(seed);
    }

    /** Whatever comes is read or malformed: no other exception, and no memory for what is not there. */
    @Property(tries = 2000)
    void anyBytesAreReadOrMalformed(@ForAll long seed) {
        Random random = new Random(seed);
        ByteBuf bytes = Unpooled.buffer();
        for (int words = random.nextInt(12); words > 0; words--) {
            bytes.writeInt(random.nextInt(4) == 0 ? random.nextInt() : random.nextInt(9));
        }
        XdrReader in = new XdrReader(bytes);
        try {
            while (true) {
                switch (random.nextInt(6)) {
                    case 0 -> in.readOpaque(Integer.MAX_VALUE);
                    case 1 -> in.readString(Integer.MAX_VALUE);
                    case 2 -> in.readOpaqueSlice(Integer.MAX_VALUE).release();
                    case 3 -> in.readCount(Integer.MAX_VALUE, 1 + random.nextInt(4));
                    case 4 -> in.readFixedOpaque(random.nextInt(20));
                    default -> in.readInt();
                }
            }
        } catch (MalformedXdrException e) {
            assertThat(e).hasMessageContaining("expected: ");
        }
        bytes.release();
    }
}
