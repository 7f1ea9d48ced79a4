// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.rpcrdma.verbs.DeviceCapabilities;

/**
 * A device of this machine, as librdmacm has opened it. Holds the list that it is of: librdmacm closes a device that is
 * gone when nobody holds one any more.
 */
final class FfmLocalDevice {

    /** More cost memory, and nobody has asked for them. */
    private static final int MAX_RANGES = 4;

    /** The numbers of Reads are of 8 bits. */
    private static final int MAX_READ_DEPTH = 255;

    /** What all kinds of messages carry: of a connect, the least, 56 on InfiniBand; the others are 196 and more. */
    private static final int PRIVATE_DATA = 56;

    private static final int PRIVATE_DATA_IWARP = 196;

    /** {@code IB_CM_REJ_INVALID_SERVICE_ID}. */
    private static final int REJECTED_BY_NOBODY = 8;

    /** Event loops take turns with the interrupts of a device. */
    private static final AtomicInteger LOOPS = new AtomicInteger();

    private final long devices;
    private final long context;
    private final String name;
    private final boolean isIwarp;
    private final int maxCompletions;
    private final boolean isSoftRoce;
    private final boolean mayHaveWindows;
    private final DeviceCapabilities capabilities;

    /** Those of this machine's addresses that are the device's; found when first asked for. */
    private List<InterfaceAddress> addresses;

    private FfmLocalDevice(NativeFunctions library, long devices, long context) throws IOException {
        this.devices = devices;
        this.context = context;
        long device = CMemory.getLong(context + StructLayouts.CONTEXT_DEVICE);
        this.name = name(context);
        this.isIwarp =
                CMemory.getInt(device + StructLayouts.DEVICE_TRANSPORT)
                        == StructLayouts.TRANSPORT_IWARP;
        try (Arena arena = Arena.ofConfined()) {
            long attributes = arena.allocate(StructLayouts.ATTR_SIZE, Long.BYTES).address();
            Errno.checkNumber("ibv_query_device", library.queryDevice(context, attributes));
            maxCompletions = CMemory.getInt(attributes + StructLayouts.ATTR_MAX_CQE);
            isSoftRoce =
                    !isIwarp
                            && CMemory.getInt(attributes + StructLayouts.ATTR_VENDOR)
                                    == StructLayouts.VENDOR_SOFT_ROCE;
            mayHaveWindows =
                    (CMemory.getInt(attributes + StructLayouts.ATTR_FLAGS)
                                            & StructLayouts.DEVICE_MW_TYPE_2)
                                    != 0
                            && CMemory.getInt(attributes + StructLayouts.ATTR_MAX_MW) > 0;
            int reads =
                    Math.min(
                            CMemory.getInt(attributes + StructLayouts.ATTR_MAX_QP_RD_ATOM),
                            CMemory.getInt(attributes + StructLayouts.ATTR_MAX_QP_INIT_RD_ATOM));
            if (CMemory.getInt(attributes + StructLayouts.ATTR_MAX_QP) <= 0) {
                throw new IOException("the RDMA device " + name + " has no queue pairs");
            }
            int ranges = least(CMemory.getInt(attributes + StructLayouts.ATTR_MAX_SGE), MAX_RANGES);
            capabilities =
                    DeviceCapabilities.builder()
                            .maxScatterGather(ranges)
                            .maxReadRanges(
                                    least(
                                            CMemory.getInt(
                                                    attributes + StructLayouts.ATTR_MAX_SGE_RD),
                                            ranges))
                            .maxReadDepth(Math.min(reads, MAX_READ_DEPTH))
                            .maxPrivateData(isIwarp ? PRIVATE_DATA_IWARP : PRIVATE_DATA)
                            .privateDataOnAccept(true)
                            .exactExposure(true)
                            .sendWithInvalidate(true)
                            .rejectWithData(true)
                            .writesWithImmediate(!isIwarp)
                            .ipv6(true)
                            .build();
        }
    }

    private static int least(int count, int most) {
        return Math.max(1, Math.min(count, most));
    }

    private static String name(long context) {
        long device = CMemory.getLong(context + StructLayouts.CONTEXT_DEVICE);
        return CMemory.getString(
                device + StructLayouts.DEVICE_NAME, StructLayouts.DEVICE_NAME_SIZE);
    }

    /**
     * Opens a device.
     *
     * @param wanted its name, or {@code null} for the first that has an active port
     * @throws IOException when there is none, in one sentence
     */
    static FfmLocalDevice open(NativeFunctions library, String wanted) throws IOException {
        long devices;
        List<Long> contexts = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            devices = library.getDevices(arena.allocate(Integer.BYTES, Long.BYTES).address());
            if (devices == 0) {
                throw Errno.failed("rdma_get_devices", library.errno());
            }
        }
        try {
            for (long at = devices; CMemory.getLong(at) != 0; at += Long.BYTES) {
                contexts.add(CMemory.getLong(at));
            }
            for (long context : contexts) {
                if (wanted == null
                        ? hasActivePort(library, context)
                        : wanted.equals(name(context))) {
                    return new FfmLocalDevice(library, devices, context);
                }
            }
            throw new IOException(missing(contexts, wanted));
        } catch (IOException e) {
            library.freeDevices(devices);
            throw e;
        }
    }

    private static String missing(List<Long> contexts, String wanted) {
        if (contexts.isEmpty()) {
            return "this machine has no RDMA device; see 'rdma link'";
        }
        List<String> names = contexts.stream().map(FfmLocalDevice::name).toList();
        return wanted == null
                ? "none of the RDMA devices " + names + " has an active port; see 'rdma link'"
                : "there is no RDMA device " + wanted + ", only " + names;
    }

    private static boolean hasActivePort(NativeFunctions library, long context) {
        try (Arena arena = Arena.ofConfined()) {
            long attributes = arena.allocate(StructLayouts.ATTR_SIZE, Long.BYTES).address();
            long port = arena.allocate(StructLayouts.PORT_SIZE, Long.BYTES).address();
            if (library.queryDevice(context, attributes) != 0) {
                return false;
            }
            int ports = CMemory.getUnsignedByte(attributes + StructLayouts.ATTR_PORTS);
            for (int number = 1; number <= ports; number++) {
                if (library.queryPort(context, (byte) number, port) == 0
                        && CMemory.getInt(port + StructLayouts.PORT_STATE)
                                == StructLayouts.PORT_ACTIVE) {
                    return true;
                }
            }
            return false;
        }
    }

    long context() {
        return context;
    }

    String name() {
        return name;
    }

    boolean isIwarp() {
        return isIwarp;
    }

    int maxCompletions() {
        return maxCompletions;
    }

    /** Whether it is the kernel's soft-RoCE, whose memory windows have defects (docs/hardware.md). */
    boolean isSoftRoce() {
        return isSoftRoce;
    }

    /** Whether the device says that it has memory windows of type 2, which its library may not know. */
    boolean mayHaveWindows() {
        return mayHaveWindows;
    }

    DeviceCapabilities capabilities() {
        return capabilities;
    }

    int nextVector() {
        int vectors = CMemory.getInt(context + StructLayouts.CONTEXT_VECTORS);
        return vectors <= 1 ? 0 : Math.floorMod(LOOPS.getAndIncrement(), vectors);
    }

    /** Whether the status of a rejection says that nobody listens, not that a listener has refused. */
    boolean meansNobody(int status) {
        return isIwarp ? status == -Errno.ECONNREFUSED : status == REJECTED_BY_NOBODY;
    }

    /**
     * The device's address to reach a peer from: of the peer's own network, else the first of the same family.
     *
     * @param channel for the identifiers by which addresses are tried
     */
    InetAddress addressTowards(NativeFunctions library, long channel, InetSocketAddress peer)
            throws SocketException {
        if (addresses == null) {
            addresses = findAddresses(library, channel);
        }
        InetAddress remote = peer.getAddress();
        InetAddress first = null;
        for (InterfaceAddress candidate : addresses) {
            if (remote == null || candidate.getAddress().getClass() != remote.getClass()) {
                continue;
            }
            if (isInNetwork(remote.getAddress(), candidate)) {
                return candidate.getAddress();
            }
            first = first == null ? candidate.getAddress() : first;
        }
        if (first == null) {
            throw new SocketException(
                    "The RDMA device "
                            + name
                            + " has no address from which "
                            + peer
                            + " can be reached; see 'rdma link' and 'ip address'");
        }
        return first;
    }

    private static boolean isInNetwork(byte[] address, InterfaceAddress network) {
        byte[] mine = network.getAddress().getAddress();
        for (int bit = 0; bit < network.getNetworkPrefixLength(); bit++) {
            int mask = 0x80 >> bit % 8;
            if ((address[bit / 8] & mask) != (mine[bit / 8] & mask)) {
                return false;
            }
        }
        return true;
    }

    private List<InterfaceAddress> findAddresses(NativeFunctions library, long channel)
            throws SocketException {
        List<InterfaceAddress> found = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            long socket = arena.allocate(SocketAddresses.SIZE, Long.BYTES).address();
            long made = arena.allocate(Long.BYTES, Long.BYTES).address();
            for (NetworkInterface network : NetworkInterface.networkInterfaces().toList()) {
                for (InterfaceAddress address : network.getInterfaceAddresses()) {
                    SocketAddresses.put(socket, new InetSocketAddress(address.getAddress(), 0));
                    if (library.createId(channel, made) == -1) {
                        continue;
                    }
                    long id = CMemory.getLong(made);
                    if (library.bindAddr(id, socket) == 0
                            && CMemory.getLong(id + StructLayouts.ID_VERBS) == context) {
                        found.add(address);
                    }
                    library.destroyId(id);
                }
            }
        } catch (UnknownHostException e) {
            throw new AssertionError("addresses of interfaces have no names", e);
        }
        return found;
    }

    /**
     * A device that is gone is closed when librdmacm has seen that it is, which it looks for when it is asked for a
     * new list.
     */
    void close(NativeFunctions library) {
        try (Arena arena = Arena.ofConfined()) {
            long fresh = library.getDevices(arena.allocate(Integer.BYTES, Long.BYTES).address());
            library.freeDevices(devices);
            if (fresh != 0) {
                library.freeDevices(fresh);
            }
        }
    }
}
