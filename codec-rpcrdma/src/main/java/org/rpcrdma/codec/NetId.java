// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.NetUtil;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/**
 * The network identifiers of RPC-over-RDMA (RFC 8166, 9), with the universal addresses (RFC 5665, 5.2.3) that rpcbind
 * uses for them. Never resolves host names.
 */
public enum NetId {

    /** RPC-over-RDMA on IPv4 addresses. */
    RDMA("rdma"),

    /** RPC-over-RDMA on IPv6 addresses. */
    RDMA6("rdma6");

    /** The port of the NFS service on RDMA; on TCP the same program listens at 2049. */
    public static final int NFS_PORT = 20049;

    private final String text;

    NetId(String text) {
        this.text = text;
    }

    /** The identifier as rpcbind spells it. */
    @Override
    public String toString() {
        return text;
    }

    /**
     * {@return the identifier of an address}
     *
     * @param address an IPv4 or IPv6 address
     */
    public static NetId of(InetAddress address) {
        return address instanceof Inet4Address ? RDMA : RDMA6;
    }

    /**
     * {@return the universal address: the host, then the port's two bytes, each after a dot, in decimal}
     *
     * @param address with a host and a port
     * @throws IllegalArgumentException when the address is not resolved
     */
    public static String universalAddress(InetSocketAddress address) {
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("address: " + address + " (expected: resolved)");
        }
        String host = NetUtil.toAddressString(address.getAddress());
        int port = address.getPort();
        return host + '.' + (port >>> 8) + '.' + (port & 0xFF);
    }

    /**
     * {@return the address that a universal address of this identifier stands for}
     *
     * @param universalAddress as {@link #universalAddress} makes it
     * @throws IllegalArgumentException if the text is not a universal address of this identifier
     */
    public InetSocketAddress parse(String universalAddress) {
        int low = universalAddress.lastIndexOf('.');
        int high = universalAddress.lastIndexOf('.', low - 1);
        if (high > 0) {
            byte[] host =
                    NetUtil.createByteArrayFromIpAddressString(universalAddress.substring(0, high));
            int port =
                    octet(universalAddress.substring(high + 1, low)) << 8
                            | octet(universalAddress.substring(low + 1));
            if (host != null && port >= 0 && (host.length == 4) == (this == RDMA)) {
                return new InetSocketAddress(address(host), port);
            }
        }
        throw new IllegalArgumentException(
                "universal address: "
                        + universalAddress
                        + " (expected: an "
                        + (this == RDMA ? "IPv4" : "IPv6")
                        + " address and two numbers up to 255, parted by dots)");
    }

    private static InetAddress address(byte[] host) {
        try {
            return InetAddress.getByAddress(host);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e); // only for lengths other than 4 and 16
        }
    }

    /** A number up to 255; negative when it is none. */
    private static int octet(String text) {
        int value = -1;
        for (int i = 0; i < text.length() && i < 4; i++) {
            char digit = text.charAt(i);
            if (digit < '0' || digit > '9') {
                return -1;
            }
            value = Math.max(0, value) * 10 + digit - '0';
        }
        return value > 255 ? -1 : value;
    }
}
