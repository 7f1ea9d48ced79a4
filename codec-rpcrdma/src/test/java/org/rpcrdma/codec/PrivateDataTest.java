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
    void whatLinuxSends() {
        PrivateData client = new PrivateData(4096, 4096, true);
        assertThat(client.encode()).isEqualTo(LINUX_CLIENT);
        assertThat(PrivateData.find(LINUX_CLIENT)).isEqualTo(client);
        assertThat(PrivateData.find(LINUX_SERVER)).isEqualTo(new PrivateData(4096, 4096, false));
    }

    @Property
    void foundAtAnyOffset(
            @ForAll @IntRange(max = 40) int before,
            @ForAll @IntRange(max = 40) int after,
            @ForAll byte filler) {
        byte[] data = new byte[before + PrivateData.BYTES + after];
        Arrays.fill(data, filler);
        System.arraycopy(LINUX_CLIENT, 0, data, before, PrivateData.BYTES);
        assertThat(PrivateData.find(data)).isEqualTo(new PrivateData(4096, 4096, true));
    }

    @Property
    void everySizeGoesThere(
            @ForAll @IntRange(min = 1, max = 256) int send,
            @ForAll @IntRange(min = 1, max = 256) int receive) {
        PrivateData data = new PrivateData(send * 1024, receive * 1024, false);
        assertThat(PrivateData.find(data.encode())).isEqualTo(data);
    }

    @Test
    @Proves("V1-INL-05")
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
    void sizesThatHaveNoCode() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PrivateData(1000, 4096, true))
                .withMessageContaining("1000");
        assertThatIllegalArgumentException().isThrownBy(() -> new PrivateData(4096, 263168, true));
    }
}
