// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.Proves;

class BindingRegistryTest {

    private final BindingRegistry standard = BindingRegistry.standard();
    private final XdrCursor cursor = new XdrCursor();
    private final ReplyLimits limits = new ReplyLimits();

    @ParameterizedTest
    @CsvSource({
        "100003, 2, Nfs2Binding",
        "100003, 3, Nfs3Binding",
        "100003, 4, Nfs4Binding",
        "100227, 2, NfsAclBinding",
        "100227, 3, NfsAclBinding",
        "100005, 1, MountBinding",
        "100005, 3, MountBinding",
        "100021, 1, NlmBinding",
        "100021, 4, NlmBinding",
        "1073741824, 1, Nfs4CallbackBinding",
        "100003, 1, NoEligibleItemsBinding",
        "100003, 5, NoEligibleItemsBinding",
        "100021, 2, NoEligibleItemsBinding",
        "1073741825, 1, NoEligibleItemsBinding",
        "-1, 1, NoEligibleItemsBinding"
    })
    @Proves({"V1-ULB-01", "V1-ULB-04", "API-02"})
    void programsAndVersions(int program, int version, String binding) {
        assertThat(standard.find(program, version).getClass().getSimpleName()).isEqualTo(binding);
    }

    @Test
    @Proves({"V1-ULB-09", "API-01"})
    void bindingsCanBeAddedAndReplaced() {
        Nfs4CallbackBinding session = new Nfs4CallbackBinding(0x40000321);
        Nfs3Binding mine = new Nfs3Binding();
        BindingRegistry more = standard.with(session, mine);
        assertThat(more.find(0x40000321, 1)).isSameAs(session);
        assertThat(more.find(100003, 3)).isSameAs(mine);
        assertThat(more.find(100003, 4)).isSameAs(standard.find(100003, 4));
        assertThat(standard.find(0x40000321, 1)).isSameAs(NoEligibleItemsBinding.INSTANCE);
    }

    /** Nothing is eligible in these programs, whatever the bytes look like, and no procedure of theirs needs a sink. */
    @ParameterizedTest
    @CsvSource({"1073741824, 1, 2", "100021, 4, 24", "100005, 3, 6", "100227, 3, 5"})
    @Proves({"V1-ULB-04", "V1-CHUNK-01", "ULB-06", "ULB-07"})
    void programsWithoutEligibleItems(int program, int version, int procedures)
            throws MalformedMessageException {
        UpperLayerBinding binding = standard.find(program, version);
        byte[] bytes = new byte[512];
        new Random(program).nextBytes(bytes);
        ByteBuf in = Unpooled.wrappedBuffer(bytes).setInt(0, 8).setInt(20, 1);
        for (int procedure = 0; procedure < procedures; procedure++) {
            XdrCursor at = cursor.wrap(in, 0, 0, bytes.length, (position, ordinal, length) -> true);
            binding.walkArguments(version, procedure, at);
            binding.walkResults(version, procedure, at);
            assertThat(cursor.items()).isZero();
            limits.clear();
            binding.limitResults(version, procedure, at, limits);
            assertThat(limits.sinks()).isZero();
        }
        assertThat(binding.isIdempotent(version, 0, cursor)).isTrue();
        assertThat(binding.isIdempotent(version, 99, cursor)).isFalse();
    }

    @Test
    @Proves({"V1-ULB-06", "ULB-19"})
    void aCallbackIsBoundByTheNumberOfItsOperations() throws MalformedMessageException {
        Nfs4CallbackBinding binding = new Nfs4CallbackBinding();
        ByteBuf in = Unpooled.buffer().writeInt(5).writeZero(8).writeInt(1).writeInt(7).writeInt(2);
        in.writeInt(11).writeZero(40).writeInt(3).writeZero(20);
        limits.clear();
        binding.limitResults(
                1, 1, cursor.wrap(in, 0, 0, in.writerIndex(), ItemInChunkPredicate.NONE), limits);
        assertThat(limits.isKnown()).isTrue();
        // Status, the tag again, the count; CB_SEQUENCE has 36 bytes of results, CB_GETATTR more.
        assertThat(limits.totalBytes()).isBetween(4 + 12 + 4 + 2 * 44L, 4 + 12 + 4 + 2 * 128L);
        in.setInt(20, 0x7FFFFFFF);
        XdrCursor at = cursor.wrap(in, 0, 0, in.writerIndex(), ItemInChunkPredicate.NONE);
        assertThatThrownBy(() -> binding.limitResults(1, 1, at, limits))
                .isSameAs(MalformedMessageException.INSTANCE);
    }

    @Test
    @Proves("V1-ULB-06")
    void aPartWithoutABoundMakesTheWholeUnknownButKeepsTheSinks() {
        limits.clear();
        assertThat(limits.isKnown()).isFalse();
        limits.results(100);
        limits.sink(5);
        assertThat(limits.isKnown()).isTrue();
        limits.unbounded();
        assertThat(limits.isKnown()).isFalse();
        assertThat(limits.sinks()).isEqualTo(1);
        assertThat(limits.totalBytes()).isEqualTo(108);
        limits.clear();
        limits.results(1);
        assertThat(limits.isKnown()).isTrue();
    }
}
