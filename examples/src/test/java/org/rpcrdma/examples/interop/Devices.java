// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;

/**
 * What a program is to be tried with: the provider that {@code -Dorg.rpcrdma.provider} names, or else the software RNIC
 * in each way that differs on the wire.
 */
final class Devices {

    /**
     * Whether they speak iWARP, as {@code -Drpcrdma.interop.iwarp=false} denies: there perftest's tools keep count of
     * receives, and a Write is complete before it has arrived.
     */
    static final boolean IWARP =
            Boolean.parseBoolean(System.getProperty("rpcrdma.interop.iwarp", "true"));

    private Devices() {}

    /** Each by its name. */
    static Map<String, VerbsProvider> all() {
        String name = System.getProperty("org.rpcrdma.provider");
        if (name != null) {
            return Map.of(name, Rdma.provider(name));
        }
        Map<String, VerbsProvider> devices = new LinkedHashMap<>();
        devices.put("defaults", new IwarpProvider(IwarpConfig.defaults()));
        devices.put("CRC", device(IwarpConfig.builder().crc(CrcPolicy.REQUIRE)));
        // What fits a segment of an Ethernet: MTU 1500, IPv4 and TCP with time stamps.
        devices.put("MTU 1500", device(IwarpConfig.builder().maxUlpdu(1438)));
        devices.put(
                "CRC, MTU 1500",
                device(IwarpConfig.builder().crc(CrcPolicy.REQUIRE).maxUlpdu(1438)));
        return devices;
    }

    private static VerbsProvider device(IwarpConfig.Builder config) {
        return new IwarpProvider(config.build());
    }

    /**
     * An address in words.
     *
     * @param text {@code HOST:PORT}, or {@code PORT} of the loopback
     */
    static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        return colon < 0
                ? ServerProbe.loopback(text)
                : new InetSocketAddress(
                        text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
    }
}
