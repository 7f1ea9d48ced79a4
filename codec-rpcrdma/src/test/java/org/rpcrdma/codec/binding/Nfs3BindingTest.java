// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;

class Nfs3BindingTest {

    private static final int READLINK = 5;
    private static final int READ = 6;
    private static final int SYMLINK = 10;

    private final Nfs3Binding binding = new Nfs3Binding();
    private final XdrCursor cursor = new XdrCursor();
    private final ReplyLimits limits = new ReplyLimits();

    private static ByteBuf opaque(ByteBuf out, int length) {
        return out.writeInt(length).writeZero((length + 3) & ~3);
    }

    private XdrCursor whole(ByteBuf in) {
        return cursor.wrap(in, 0, 0, in.writerIndex(), ItemInChunkPredicate.NONE);
    }

    @Test
    @Proves("ULB-01")
    void pathOfASymlinkComesAfterAllKindsOfAttributes() throws MalformedMessageException {
        for (int set = 0; set < 16; set++) {
            ByteBuf in = opaque(opaque(Unpooled.buffer(), 32), 5);
            for (int i = 0; i < 3; i++) {
                in.writeInt(set & 1);
                in.writeZero((set & 1) * 4);
            }
            in.writeInt(set >> 1 & 1).writeZero((set >> 1 & 1) * 8);
            in.writeInt(set >> 2 & 3); // 0 do not change, 1 server's time, 2 client's time
            in.writeZero((set >> 2 & 3) == 2 ? 8 : 0).writeInt(1);
            int position = in.writerIndex() + 4;
            opaque(in, 11);
            if (set >> 2 == 3) {
                assertThatThrownBy(() -> binding.walkArguments(3, SYMLINK, whole(in)))
                        .isSameAs(MalformedMessageException.INSTANCE);
                continue;
            }
            binding.walkArguments(3, SYMLINK, whole(in));
            assertThat(cursor.items()).isEqualTo(1);
            assertThat(cursor.itemPosition(0)).isEqualTo(position);
            assertThat(cursor.itemLength(0)).isEqualTo(11);
            assertThat(cursor.remaining()).isZero();
        }
    }

    @Test
    @Proves("ULB-01")
    void resultsOfReadAndReadlinkWithAndWithoutAttributes() throws MalformedMessageException {
        for (int attributes = 0; attributes < 2; attributes++) {
            ByteBuf link =
                    Unpooled.buffer().writeInt(0).writeInt(attributes).writeZero(84 * attributes);
            opaque(link, 7);
            binding.walkResults(3, READLINK, whole(link));
            assertThat(cursor.itemPosition(0)).isEqualTo(12 + 84 * attributes);
            assertThat(cursor.itemLength(0)).isEqualTo(7);

            ByteBuf data =
                    Unpooled.buffer().writeInt(0).writeInt(attributes).writeZero(84 * attributes);
            opaque(data.writeInt(9).writeInt(1), 9);
            binding.walkResults(3, READ, whole(data));
            assertThat(cursor.itemPosition(0)).isEqualTo(20 + 84 * attributes);
            assertThat(cursor.itemLength(0)).isEqualTo(9);
            assertThat(cursor.remaining()).isZero();
        }
    }

    @Test
    void failedReadHasNoEligibleResult() throws MalformedMessageException {
        binding.walkResults(3, READ, whole(Unpooled.buffer().writeInt(70).writeInt(0)));
        assertThat(cursor.items()).isZero();
    }

    @Test
    void countsThatOverflowAreMalformed() {
        for (int count : new int[] {0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFD}) {
            ByteBuf in =
                    Unpooled.buffer()
                            .writeInt(0)
                            .writeInt(0)
                            .writeInt(1)
                            .writeInt(1)
                            .writeInt(count)
                            .writeZero(64);
            assertThatThrownBy(() -> binding.walkResults(3, READ, whole(in)))
                    .isSameAs(MalformedMessageException.INSTANCE);
        }
    }

    @Test
    @Proves("ULB-03")
    void onlyReadOffersASink() throws MalformedMessageException {
        ByteBuf in = opaque(Unpooled.buffer(), 64).writeZero(16).writeInt(65536).writeInt(65536);
        for (int procedure = 0; procedure <= 22; procedure++) {
            limits.clear();
            binding.limitResults(3, procedure, whole(in), limits);
            assertThat(limits.isKnown()).isTrue();
            assertThat(limits.sinks()).isEqualTo(procedure == READ ? 1 : 0);
            binding.walkArguments(
                    3, procedure, whole(opaque(opaque(Unpooled.buffer(), 8), 8).writeZero(64)));
        }
    }

    @Test
    void onlyReadingProceduresAndThoseThatMayBeRepeatedAreIdempotent() {
        assertThat(binding.isIdempotent(3, READ, cursor)).isTrue();
        assertThat(binding.isIdempotent(3, 7, cursor)).isTrue();
        for (int procedure : new int[] {2, 8, 9, 10, 11, 12, 13, 14, 15}) {
            assertThat(binding.isIdempotent(3, procedure, cursor)).isFalse();
        }
    }
}
