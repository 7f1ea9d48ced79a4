// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.HexFormat;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;

class PrivateDataTest {

    private static final byte[] LINUX_CLIENT = HexFormat.of().parseHex("f6ab0e1801010303");
    private static final byte[] LINUX_SERVER = HexFormat.of().parseHex("f6ab0e1801000303");

    @Test
    @Proves("PD-01")
    void whatLinuxSends() {
        PrivateData client = new PrivateData(4096, 4096, true);
        assertThat(client.encode()).isEqualTo(LINUX_CLIENT);
        assertThat(PrivateData.find(LINUX_CLIENT)).isEqualTo(client);
        assertThat(PrivateData.find(LINUX_SERVER)).isEqualTo(new PrivateData(4096, 4096, false));
    }

    /** Eight octets that others do not look at, behind the eight that they do. */
    @Test
    @Proves({"PD-01", "API-18"})
    void whatOnlyThisProjectSays() {
        byte[] both = HexFormat.of().parseHex("f6ab0e18010103036e52444d01010000");
        PrivateData own = new PrivateData(4096, 4096, true, true, 0);
        assertThat(own.encode()).isEqualTo(both);
        assertThat(PrivateData.find(both)).isEqualTo(own);
        PrivateData plain = new PrivateData(4096, 4096, true);
        for (int length = PrivateData.BYTES; length < both.length; length++) {
            assertThat(PrivateData.find(Arrays.copyOf(both, length))).isEqualTo(plain);
        }
        for (int changed : new int[] {8, 12, 13}) { // identifier, version, flag
            byte[] other = both.clone();
            other[changed]++;
            assertThat(PrivateData.find(other)).isEqualTo(plain);
        }
        // Alone it says nothing: there is no RPC-over-RDMA beside it.
        assertThat(PrivateData.find(Arrays.copyOfRange(both, 8, 16)))
                .isEqualTo(PrivateData.DEFAULT);
    }

    /** In two octets that were zeros before, in units of 1024 bytes. */
    @Test
    @Proves({"PD-01", "API-18"})
    void theLongSizeStandsBehindTheFlags() {
        byte[] both = HexFormat.of().parseHex("f6ab0e18010103036e52444d01010080");
        PrivateData own = new PrivateData(4096, 4096, true, true, 131072);
        assertThat(own.encode()).isEqualTo(both);
        assertThat(PrivateData.find(both)).isEqualTo(own);
        byte[] alone = HexFormat.of().parseHex("f6ab0e18010103036e52444d01000100");
        own = new PrivateData(4096, 4096, true, false, 262144);
        assertThat(own.encode()).isEqualTo(alone);
        assertThat(PrivateData.find(alone)).isEqualTo(own);
        // Those who know RFC 8797 alone see what they always saw.
        assertThat(Arrays.copyOf(both, PrivateData.BYTES)).isEqualTo(LINUX_CLIENT);
        // More than any Send has is no more than that.
        byte[] most = HexFormat.of().parseHex("f6ab0e18010103036e52444d0100ffff");
        assertThat(PrivateData.find(most)).isEqualTo(own);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1024, 1000, 1023, 131073, 263168})
    void longSizesThatHaveNoCode(int bytes) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PrivateData(4096, 4096, true, false, bytes))
                .withMessageContaining("longSize: " + bytes);
    }

    /** Whatever stands behind the message of RFC 8797, of whatever length: it is looked at for our own alone. */
    @Property
    @Proves({"PD-01", "PD-07"})
    void anythingMayStandBehind(@ForAll @Size(max = 56) byte[] more) {
        byte[] data = Arrays.copyOf(LINUX_CLIENT, PrivateData.BYTES + more.length);
        System.arraycopy(more, 0, data, PrivateData.BYTES, more.length);
        assertThat(PrivateData.find(data)).isEqualTo(new PrivateData(4096, 4096, true));
    }

    @Property
    @Proves("PD-07")
    void foundAtAnyOffset(
            @ForAll @IntRange(max = 40) int before,
            @ForAll @IntRange(max = 40) int after,
            @ForAll byte filler) {
        byte[] data = new byte[before + PrivateData.BYTES + after];
        Arrays.fill(data, filler);
        System.arraycopy(LINUX_CLIENT, 0, data, before, PrivateData.BYTES);
        assertThat(PrivateData.find(data)).isEqualTo(new PrivateData(4096, 4096, true));
    }

    @Test
    @Proves("PD-02")
    void reservedFlagsAreNotLookedAt() {
        byte[] all = LINUX_SERVER.clone();
        all[5] = (byte) 0xFE;
        assertThat(PrivateData.find(all)).isEqualTo(new PrivateData(4096, 4096, false));
        all[5] = (byte) 0xFF;
        assertThat(PrivateData.find(all)).isEqualTo(new PrivateData(4096, 4096, true));
        assertThat(new PrivateData(4096, 4096, true).encode()[5]).isEqualTo((byte) 1);
        assertThat(new PrivateData(4096, 4096, false).encode()[5]).isZero();
    }

    @Property
    @Proves("PD-03")
    void everySizeGoesThere(
            @ForAll @IntRange(min = 1, max = 256) int send,
            @ForAll @IntRange(min = 1, max = 256) int receive) {
        PrivateData data = new PrivateData(send * 1024, receive * 1024, false);
        assertThat(PrivateData.find(data.encode())).isEqualTo(data);
    }

    @Test
    @Proves({"V1-INL-05", "PD-05", "PD-06"})
    void absentCutShortOrOfAnotherVersionIsTheDefault() {
        assertThat(PrivateData.find(new byte[0])).isEqualTo(PrivateData.DEFAULT);
        assertThat(PrivateData.DEFAULT.sendSize()).isEqualTo(1024);
        assertThat(PrivateData.DEFAULT.receiveSize()).isEqualTo(1024);
        assertThat(PrivateData.DEFAULT.remoteInvalidation()).isFalse();
        for (int length = 0; length < PrivateData.BYTES; length++) {
            assertThat(PrivateData.find(Arrays.copyOf(LINUX_CLIENT, length)))
                    .isEqualTo(PrivateData.DEFAULT);
        }
        byte[] other = LINUX_CLIENT.clone();
        other[4] = 2;
        assertThat(PrivateData.find(other)).isEqualTo(PrivateData.DEFAULT);
    }

    @Test
    @Proves("PD-03")
    void sizesThatHaveNoCode() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PrivateData(1000, 4096, true))
                .withMessageContaining("1000");
        assertThatIllegalArgumentException().isThrownBy(() -> new PrivateData(4096, 263168, true));
    }
}
