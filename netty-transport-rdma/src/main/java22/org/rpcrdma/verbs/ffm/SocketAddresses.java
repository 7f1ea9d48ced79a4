// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** {@code sockaddr_in} and {@code sockaddr_in6}. */
final class SocketAddresses {

    /** Room for either. */
    static final int SIZE = 28;

    private static final int AF_INET = 2;
    private static final int AF_INET6 = 10;
    private static final int PORT = 2;
    private static final int ADDRESS_4 = 4;
    private static final int ADDRESS_6 = 8;
    private static final int SCOPE_6 = 24;

    private SocketAddresses() {}

    /**
     * Writes an address.
     *
     * @throws UnknownHostException when its name is not resolved
     */
    static void put(long at, InetSocketAddress socket) throws UnknownHostException {
        InetAddress address = socket.getAddress();
        if (address == null) {
            throw new UnknownHostException(socket.getHostString());
        }
        CMemory.clear(at, SIZE);
        CMemory.putShort(at, address instanceof Inet4Address ? AF_INET : AF_INET6);
        CMemory.putByte(at + PORT, socket.getPort() >> 8);
        CMemory.putByte(at + PORT + 1, socket.getPort());
        if (address instanceof Inet6Address six) {
            CMemory.putBytes(at + ADDRESS_6, six.getAddress());
            CMemory.putInt(at + SCOPE_6, six.getScopeId());
        } else {
            CMemory.putBytes(at + ADDRESS_4, address.getAddress());
        }
    }

    /**
     * Reads an address.
     *
     * @throws IOException when there is none of a known family
     */
    static InetSocketAddress get(long at) throws IOException {
        int port = CMemory.getUnsignedByte(at + PORT) << 8 | CMemory.getUnsignedByte(at + PORT + 1);
        return switch (CMemory.getShort(at)) {
            case AF_INET ->
                    new InetSocketAddress(
                            InetAddress.getByAddress(CMemory.getBytes(at + ADDRESS_4, 4)), port);
            case AF_INET6 -> {
                byte[] bytes = CMemory.getBytes(at + ADDRESS_6, 16);
                int scope = CMemory.getInt(at + SCOPE_6);
                yield new InetSocketAddress(
                        scope == 0
                                ? InetAddress.getByAddress(bytes)
                                : Inet6Address.getByAddress(null, bytes, scope),
                        port);
            }
            default -> throw new IOException("the address is of no known family");
        };
    }
}
