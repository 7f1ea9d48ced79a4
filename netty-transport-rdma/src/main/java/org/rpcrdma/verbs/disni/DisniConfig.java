// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import io.netty.util.internal.SystemPropertyUtil;
import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * Settings of the provider on DiSNI. {@link #defaults()} reads system properties.
 *
 * @param address an IPv4 address of the RDMA device; {@code null} takes the first device that has one of this machine's
 *     ({@code -Dorg.rpcrdma.disni.address})
 * @param completions the most entries of an event loop's completion queue, which limits its connections: each takes
 *     its send and receive depths. A device that has less gives less. 1 to 2^22
 *     ({@code -Dorg.rpcrdma.disni.completions}, 32767)
 * @param registrationCache bytes of memory outside of the transport's pools that stay registered for local use after a
 *     work request, per event loop; 0 for none ({@code -Dorg.rpcrdma.disni.registrationCache}, 0). Only for programs
 *     whose large buffers are not freed as long as the event loop runs: a device goes on using the old pages of memory
 *     that was freed and mapped anew
 * @param resolveMillis how long the resolution of an address, and of a route, may take, in milliseconds ({@code
 *     -Dorg.rpcrdma.disni.resolveMillis}, 2000)
 */
public record DisniConfig(
        InetAddress address, int completions, long registrationCache, int resolveMillis) {

    static final String PREFIX = "org.rpcrdma.disni.";

    /**
     * Checks the ranges.
     *
     * @param completions 1 to 2^22
     * @param registrationCache from 0
     * @param resolveMillis from 1
     * @param address as above
     * @throws IllegalArgumentException when a value is out of its range
     */
    public DisniConfig {
        check("completions", completions, 1, 1 << 22);
        check("registrationCache", registrationCache, 0, Long.MAX_VALUE);
        check("resolveMillis", resolveMillis, 1, Integer.MAX_VALUE);
    }

    private static void check(String name, long value, long least, long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(
                    name + ": " + value + " (expected: " + least + " to " + most + ')');
        }
    }

    /**
     * {@return the settings of the system properties}
     *
     * @throws IllegalArgumentException when a value is out of its range or the address is not one
     */
    public static DisniConfig defaults() {
        return new DisniConfig(
                address(SystemPropertyUtil.get(PREFIX + "address")),
                SystemPropertyUtil.getInt(PREFIX + "completions", 32767),
                SystemPropertyUtil.getLong(PREFIX + "registrationCache", 0),
                SystemPropertyUtil.getInt(PREFIX + "resolveMillis", 2000));
    }

    private static InetAddress address(String text) {
        try {
            return text == null ? null : InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(
                    "-Dorg.rpcrdma.disni.address: "
                            + text
                            + " (expected: an IPv4 address of the RDMA device)",
                    e);
        }
    }
}
