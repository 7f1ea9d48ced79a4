// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.HexFormat;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
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
        PrivateData own = new PrivateData(4096, 4096, true, true);
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
