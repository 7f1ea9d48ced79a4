// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import io.netty.util.NetUtil;
import java.util.Arrays;

/** Addresses with a common prefix (RFC 4632, 3.1; RFC 4291, 2.3). */
final class CidrRange {

    private static final int IPV4_BYTES = 4;

    /** Bits before the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2), which Java never reports. */
    private static final int MAPPED_BITS = 96;

    private final String text;
    private final byte[] prefix;
    private final int prefixLength;

    private CidrRange(String text, byte[] prefix, int prefixLength) {
        this.text = text;
        this.prefix = prefix;
        this.prefixLength = prefixLength;
    }

    /** @throws IllegalArgumentException when it is no range */
    static CidrRange parse(String text) {
        int slash = text.indexOf('/');
        String address = slash < 0 ? text : text.substring(0, slash);
        byte[] bytes =
                address.indexOf('%') < 0
                        ? NetUtil.createByteArrayFromIpAddressString(address)
                        : null;
        if (bytes == null) {
            throw new IllegalArgumentException(
                    "range: \""
                            + text
                            + "\" (expected: an IP address, or one with a prefix length, such as"
                            + " 192.0.2.0/24 or 2001:db8::/32)");
        }
        int bits = bytes.length * Byte.SIZE;
        int length = slash < 0 ? bits : prefixLength(text, slash + 1, bits);
        if (!Arrays.equals(masked(bytes, length), bytes)) {
            throw new IllegalArgumentException(
                    "range: \""
                            + text
                            + "\" (expected: no bits beyond the prefix of "
                            + length
                            + ", such as "
                            + NetUtil.bytesToIpAddress(masked(bytes, length))
                            + '/'
                            + length
                            + ')');
        }
        if (isMapped(bytes) && length >= MAPPED_BITS) {
            bytes = Arrays.copyOfRange(bytes, bytes.length - IPV4_BYTES, bytes.length);
            length -= MAPPED_BITS;
        }
        return new CidrRange(text, bytes, length);
    }

    private static int prefixLength(String text, int start, int most) {
        String digits = text.substring(start);
        if (digits.matches("[0-9]{1,3}") && Integer.parseInt(digits) <= most) {
            return Integer.parseInt(digits);
        }
        throw new IllegalArgumentException(
                "range: \"" + text + "\" (expected: a prefix length of 0 to " + most + ')');
    }

    private static boolean isMapped(byte[] address) {
        int i = 0;
        while (i < 10 && address.length > IPV4_BYTES && address[i] == 0) {
            i++;
        }
        return i == 10 && address[10] == -1 && address[11] == -1;
    }

    /** The address with all bits behind the prefix zero. */
    static byte[] masked(byte[] address, int prefixLength) {
        byte[] masked = address.clone();
        for (int i = 0; i < masked.length; i++) {
            int bits = Math.max(0, Math.min(Byte.SIZE, prefixLength - i * Byte.SIZE));
            masked[i] &= (byte) (0xFF00 >> bits);
        }
        return masked;
    }

    boolean contains(byte[] address) {
        return address.length == prefix.length
                && Arrays.equals(masked(address, prefixLength), prefix);
    }

    @Override
    public String toString() {
        return text;
    }
}
