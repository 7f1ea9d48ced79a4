// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;

class Nfs2BindingTest {

    private static final int READLINK = 5;
    private static final int READ = 6;
    private static final int WRITE = 8;
    private static final int SYMLINK = 13;
    private static final int READDIR = 16;

    private final Nfs2Binding binding = new Nfs2Binding();
    private final XdrCursor cursor = new XdrCursor();
    private final ReplyLimits limits = new ReplyLimits();

    private static ByteBuf opaque(ByteBuf out, int length) {
        return out.writeInt(length).writeZero((length + 3) & ~3);
    }

    private static ByteBuf zeros(int length) {
        return Unpooled.buffer().writeZero(length);
    }

    private XdrCursor whole(ByteBuf in) {
        return cursor.wrap(in, 0, 0, in.writerIndex(), ItemInChunkPredicate.NONE);
    }

    private void assertItem(int position, int length) {
        assertThat(cursor.items()).isEqualTo(1);
        assertThat(cursor.itemPosition(0)).isEqualTo(position);
        assertThat(cursor.itemLength(0)).isEqualTo(length);
    }

    @Test
    @Proves({"V1-ULB-01", "API-01", "ULB-01"})
    void dataOfWriteAndPathOfSymlink() throws MalformedMessageException {
        binding.walkArguments(2, WRITE, whole(opaque(zeros(32 + 12), 8191)));
        assertItem(32 + 12 + 4, 8191);
        assertThat(cursor.remaining()).isZero();
        ByteBuf link = opaque(opaque(zeros(32), 5), 1024).writeZero(32); // name, path, attributes
        binding.walkArguments(2, SYMLINK, whole(link));
        assertItem(32 + 4 + 8 + 4, 1024);
        assertThat(cursor.remaining()).isEqualTo(32);
    }

    @Test
    @Proves({"V1-ULB-01", "API-01", "V1-CHUNK-07", "ULB-01"})
    void dataOfReadAndPathOfReadlinkWhenTheySucceed() throws MalformedMessageException {
        binding.walkResults(2, READ, whole(opaque(zeros(4 + 68), 13)));
        assertItem(4 + 68 + 4, 13);
        binding.walkResults(2, READLINK, whole(opaque(zeros(4), 13)));
        assertItem(8, 13);
        for (int procedure = 0; procedure < 19; procedure++) {
            binding.walkResults(2, procedure, whole(Unpooled.buffer().writeInt(70)));
            assertThat(cursor.items()).isZero();
        }
    }

    @Test
    @Proves("SEC-16")
    void longerThanTheProtocolAllowsIsMalformed() {
        assertThatThrownBy(
                        () -> binding.walkArguments(2, WRITE, whole(opaque(zeros(32 + 12), 8193))))
                .isSameAs(MalformedMessageException.INSTANCE);
        assertThatThrownBy(() -> binding.walkResults(2, READLINK, whole(opaque(zeros(4), 1025))))
                .isSameAs(MalformedMessageException.INSTANCE);
        ByteBuf read = opaque(zeros(4 + 68), 8192);
        for (int end = 0; end < read.writerIndex(); end++) {
            ByteBuf cut = read.slice(0, end);
            assertThatThrownBy(() -> binding.walkResults(2, READ, whole(cut)))
                    .isSameAs(MalformedMessageException.INSTANCE);
        }
    }

    @Test
    @Proves({"V1-ULB-02", "V1-ULB-06", "API-07", "ULB-03"})
    void onlyReadOffersASink() throws MalformedMessageException {
        ByteBuf in = zeros(32).writeInt(0).writeInt(5000).writeInt(0);
        for (int procedure = 0; procedure < 19; procedure++) {
            limits.clear();
            binding.limitResults(2, procedure, whole(in), limits);
            assertThat(limits.isKnown()).isTrue();
            assertThat(limits.sinks()).isEqualTo(procedure == READ ? 1 : 0);
        }
        limits.clear();
        binding.limitResults(2, READ, whole(in), limits);
        assertThat(limits.sinkBytes(0)).isEqualTo(5000);
        limits.clear();
        binding.limitResults(2, READDIR, whole(in), limits);
        assertThat(limits.totalBytes()).isEqualTo(12 + 5000);
        limits.clear();
        in.setInt(36, -1); // no reply is longer than the protocol allows, whatever is asked for
        binding.limitResults(2, READ, whole(in), limits);
        assertThat(limits.sinkBytes(0)).isEqualTo(8192);
    }

    @Test
    void whatChangesNamesIsNotIdempotent() {
        for (int procedure = 0; procedure < 19; procedure++) {
            boolean isHarmless =
                    procedure <= 1
                            || (procedure >= 4 && procedure <= 6)
                            || procedure == WRITE
                            || procedure == READDIR
                            || procedure == 17;
            assertThat(binding.isIdempotent(2, procedure, cursor)).isEqualTo(isHarmless);
        }
    }
}
