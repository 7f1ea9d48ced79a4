// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.RdmaCmId;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;

/** IPv4 socket addresses: of any other, DiSNI would silently take the first four bytes. */
final class Ipv4SocketAddresses {

    private Ipv4SocketAddresses() {}

    /**
     * @throws SocketException when it is not of IPv4
     */
    static InetSocketAddress checked(InetSocketAddress address) throws SocketException {
        if (!(address.getAddress() instanceof Inet4Address)) {
            throw new SocketException(
                    "DiSNI knows IPv4 only, this is "
                            + address
                            + "; use an IPv4 address, or another RDMA provider");
        }
        return address;
    }

    /**
     * Where to listen: the address without a host is that of IPv4, whichever the JVM prefers.
     *
     * @throws SocketException when it is not of IPv4
     */
    static InetSocketAddress toListen(InetSocketAddress local) throws SocketException {
        return local.getAddress() != null && local.getAddress().isAnyLocalAddress()
                ? new InetSocketAddress("0.0.0.0", local.getPort())
                : checked(local);
    }

    /**
     * Address to bind to.
     *
     * @param local where the user wants to, or {@code null}
     * @param device an address of the device, for one that names none
     */
    static InetSocketAddress toBind(InetSocketAddress local, InetAddress device)
            throws SocketException {
        if (local == null) {
            return new InetSocketAddress(device, 0);
        }
        return local.getAddress() != null && local.getAddress().isAnyLocalAddress()
                ? new InetSocketAddress(device, local.getPort())
                : checked(local);
    }

    static InetSocketAddress local(RdmaCmId id) throws IOException {
        return (InetSocketAddress) id.getSource();
    }

    static InetSocketAddress remote(RdmaCmId id) throws IOException {
        return (InetSocketAddress) id.getDestination();
    }
}
