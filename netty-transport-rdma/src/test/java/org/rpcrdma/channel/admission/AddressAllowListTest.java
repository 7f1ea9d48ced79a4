// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressAllowListTest {

    @ParameterizedTest
    @CsvSource({
        "192.0.2.0/24, 192.0.2.255, true",
        "192.0.2.0/24, 192.0.3.0, false",
        "192.0.2.0/23, 192.0.3.7, true",
        "10.0.0.0/9, 10.127.255.255, true",
        "10.0.0.0/9, 10.128.0.0, false",
        "192.0.2.7, 192.0.2.7, true",
        "192.0.2.7, 192.0.2.6, false",
        "192.0.2.7/32, 192.0.2.7, true",
        "0.0.0.0/0, 255.255.255.255, true",
        "0.0.0.0/0, ::1, false",
        "::/0, 192.0.2.7, false",
        "::/0, 2001:db8::1, true",
        "2001:db8::/32, 2001:db8:ffff::1, true",
        "2001:db8::/32, 2001:db9::1, false",
        "2001:db8::8000:0:0:0/65, 2001:db8::8000:0:0:1, true",
        "2001:db8::8000:0:0:0/65, 2001:db8::7000:0:0:1, false",
        "::1, ::1, true",
        "::ffff:192.0.2.0/120, 192.0.2.9, true",
        "::ffff:192.0.2.0/120, 192.0.3.9, false"
    })
    void aRangeHasTheAddressesWithItsPrefix(String range, String address, boolean isListed)
            throws Exception {
        AddressAllowList list = AddressAllowList.of(range);

        assertThat(list.contains(InetAddress.getByName(address))).isEqualTo(isListed);
        AdmissionDecision decision =
                list.decide(ReceivedRequest.from(address)).toCompletableFuture().get();
        assertThat(decision.isAccepted()).isEqualTo(isListed);
    }

    @Test
    void anyOfSeveralRangesAccepts() throws Exception {
        AddressAllowList list = AddressAllowList.of("192.0.2.0/24", "fd00::/8");

        assertThat(list.contains(InetAddress.getByName("192.0.2.1"))).isTrue();
        assertThat(list.contains(InetAddress.getByName("fd12::1"))).isTrue();
        assertThat(list.contains(InetAddress.getByName("fe80::1"))).isFalse();
        assertThat(list).hasToString("AddressAllowList[192.0.2.0/24, fd00::/8]");
        assertThat(AddressAllowList.of(List.of()).contains(InetAddress.getLoopbackAddress()))
                .isFalse();
    }

    @Test
    void theZoneOfAnAddressIsIgnored() throws Exception {
        byte[] bytes = InetAddress.getByName("fe80::1").getAddress();

        assertThat(
                        AddressAllowList.of("fe80::/10")
                                .contains(Inet6Address.getByAddress("", bytes, 3)))
                .isTrue();
    }

    /** No name is looked up, and a slip of the pen does not open the server. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "/8",
                "localhost",
                "localhost/8",
                "10.0.0.0/",
                "10.0.0.0/33",
                "10.0.0.0/-1",
                "10.0.0.0/+8",
                "10.0.0.0/8/8",
                "10.0.0/8",
                "::/129",
                "fe80::1%1",
                "10.0.0.0/99999999999",
                "10.0.0.1/8",
                "2001:db8::1/64",
                " 10.0.0.0/8",
                "256.0.0.0/8"
            })
    void whatIsNoRangeIsRefused(String range) {
        assertThatThrownBy(() -> AddressAllowList.of(range))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("range: \"" + range + "\" (expected: ");
    }

    @Test
    void bitsBeyondThePrefixAreNamedWithTheRangeThatIsMeant() {
        assertThatThrownBy(() -> AddressAllowList.of("10.1.2.3/8"))
                .hasMessage(
                        "range: \"10.1.2.3/8\" (expected: no bits beyond the prefix of 8, such as"
                                + " 10.0.0.0/8)");
    }
}
