// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.HashMap;
import java.util.Map;
import org.rpcrdma.verbs.iwarp.mpa.FpduLayout;

/** The largest ULPDU by local address, from the MTU of its interface. Remembered, because asking is slow. */
final class InterfaceMtuCache {

    private static final int UNKNOWN_MTU = 1500;
    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int MAX_REMEMBERED = 64;

    private final Map<InetAddress, Integer> mulpdus = new HashMap<>();

    int mulpdu(InetAddress local) {
        if (mulpdus.size() > MAX_REMEMBERED) {
            mulpdus.clear();
        }
        return mulpdus.computeIfAbsent(
                local,
                address ->
                        FpduLayout.mulpdu(
                                mtu(address),
                                address instanceof Inet6Address ? IPV6_HEADER : IPV4_HEADER));
    }

    private static int mtu(InetAddress address) {
        try {
            NetworkInterface nic = NetworkInterface.getByInetAddress(address);
            int mtu = nic == null ? 0 : nic.getMTU();
            return mtu > 0 ? mtu : UNKNOWN_MTU;
        } catch (IOException e) {
            return UNKNOWN_MTU;
        }
    }
}
