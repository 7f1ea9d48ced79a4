// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.RdmaCmId;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * The RDMA device that has a local address. DiSNI cannot list devices: it shows the one that an identifier was bound to
 * by an address. The identifier is kept as long as the device is used.
 */
final class DisniLocalDevice implements AutoCloseable {

    private final CmEventChannelThread events;
    private final RdmaCmId id;
    final InetAddress address;
    final IbvContext verbs;
    final boolean mayBeIwarp;

    private DisniLocalDevice(
            CmEventChannelThread events, RdmaCmId id, InetAddress address, IbvContext verbs)
            throws IOException {
        this.events = events;
        this.id = id;
        this.address = address;
        this.verbs = verbs;
        this.mayBeIwarp = IwarpDeviceDetector.mayBeIwarp(Path.of("/"), verbs.getCmd_fd());
    }

    /**
     * Finds the device.
     *
     * @param wanted one of its addresses, or {@code null} for the first device that has one
     * @throws IOException when there is none, in one sentence
     */
    static DisniLocalDevice find(CmEventChannelThread events, InetAddress wanted)
            throws IOException {
        List<InetAddress> candidates = wanted == null ? localAddresses() : List.of(wanted);
        IOException failure = null;
        for (InetAddress address : candidates) {
            RdmaCmId id = events.newId();
            try {
                id.bindAddr(new InetSocketAddress(address, 0));
                IbvContext verbs = id.getVerbs();
                if (verbs != null) {
                    return new DisniLocalDevice(events, id, address, verbs);
                }
            } catch (IOException e) {
                failure = e;
            }
            events.destroy(id);
        }
        throw new IOException(
                "no RDMA device has the address "
                        + (candidates.size() == 1 ? candidates.get(0).getHostAddress() : candidates)
                        + "; see 'ibv_devices' and 'rdma link', and name an IPv4 address of a"
                        + " device with -Dorg.rpcrdma.disni.address",
                failure);
    }

    /** IPv4 only, because DiSNI knows no other; the loopback interface last. */
    private static List<InetAddress> localAddresses() throws IOException {
        List<InetAddress> addresses = new ArrayList<>();
        for (NetworkInterface networkInterface :
                Collections.list(NetworkInterface.getNetworkInterfaces())) {
            if (networkInterface.isUp()) {
                Collections.list(networkInterface.getInetAddresses()).stream()
                        .filter(Inet4Address.class::isInstance)
                        .forEach(addresses::add);
            }
        }
        addresses.sort(Comparator.comparing(InetAddress::isLoopbackAddress));
        return addresses;
    }

    /** Whether an identifier is bound to this device. */
    boolean has(RdmaCmId other) throws IOException {
        IbvContext device = other.getVerbs();
        return device != null && device.getCmd_fd() == verbs.getCmd_fd();
    }

    @Override
    public void close() {
        events.destroy(id);
    }
}
