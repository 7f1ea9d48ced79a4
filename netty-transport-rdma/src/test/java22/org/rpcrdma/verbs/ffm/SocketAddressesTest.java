// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Addresses as C has them. */
class SocketAddressesTest {

    private final Arena arena = Arena.ofAuto();
    private final long at = arena.allocate(SocketAddresses.SIZE, Long.BYTES).address();

    private String bytes(int count) {
        return HexFormat.of().formatHex(CMemory.getBytes(at, count));
    }

    @Test
    void ofIpv4() throws IOException {
        InetSocketAddress address = new InetSocketAddress("192.0.2.1", 20049);
        SocketAddresses.put(at, address);
        assertThat(bytes(16)).isEqualTo("02004e51c00002010000000000000000");
        assertThat(SocketAddresses.get(at)).isEqualTo(address);
    }

    @Test
    void ofIpv6WithItsScope() throws IOException {
        byte[] local = InetAddress.getAllByName("fe80::1")[0].getAddress();
        InetSocketAddress address =
                new InetSocketAddress(Inet6Address.getByAddress(null, local, 3), 0xfffe);
        SocketAddresses.put(at, address);
        assertThat(bytes(28)).isEqualTo("0a00fffe00000000fe80000000000000000000000000000103000000");
        assertThat(SocketAddresses.get(at)).isEqualTo(address);
    }

    @Test
    void noneIsRefused() {
        CMemory.clear(at, SocketAddresses.SIZE);
        assertThatThrownBy(() -> SocketAddresses.get(at)).isInstanceOf(IOException.class);
        assertThatThrownBy(
                        () ->
                                SocketAddresses.put(
                                        at, InetSocketAddress.createUnresolved("nowhere", 1)))
                .isInstanceOf(UnknownHostException.class)
                .hasMessage("nowhere");
    }
}
