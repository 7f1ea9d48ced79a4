// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import io.netty.util.internal.SystemPropertyUtil;

/**
 * Settings of the provider on libibverbs. {@link #defaults()} reads system properties.
 *
 * @param device the name of the RDMA device, as {@code rdma link} shows it; {@code null} takes the first with an active
 *     port ({@code -Dorg.rpcrdma.ffm.device})
 * @param completions the most entries of an event loop's completion queue, which limits its connections: each takes
 *     its send and receive depths, and with memory windows its send depth again. A device that has less gives less. 1
 *     to 2^22 ({@code -Dorg.rpcrdma.ffm.completions}, 32767)
 * @param registrationCache bytes of memory outside of the transport's pools that stay registered for local use after a
 *     work request, per event loop; 0 for none ({@code -Dorg.rpcrdma.ffm.registrationCache}, 0). Only for programs
 *     whose large buffers are not freed as long as the event loop runs: a device goes on using the old pages of memory
 *     that was freed and mapped anew
 * @param resolveMillis how long the resolution of an address, and of a route, may take, in milliseconds ({@code
 *     -Dorg.rpcrdma.ffm.resolveMillis}, 2000)
 * @param windows whether memory is exposed by memory windows of type 2 where the device has them, so that peers may
 *     invalidate ({@code -Dorg.rpcrdma.ffm.windows}); {@code null}, if nothing is said, is for all such devices but
 *     soft-RoCE, where a peer reaches beyond a window of Linux 6.1 and stops the machine by invalidating one twice
 */
public record FfmConfig(
        String device,
        int completions,
        long registrationCache,
        int resolveMillis,
        Boolean windows) {

    static final String PREFIX = "org.rpcrdma.ffm.";

    /**
     * Checks the ranges.
     *
     * @param completions 1 to 2^22
     * @param registrationCache from 0
     * @param resolveMillis from 1
     * @param device as above
     * @param windows either
     * @throws IllegalArgumentException when a value is out of its range
     */
    public FfmConfig {
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

    private static Boolean windows(String property) {
        return SystemPropertyUtil.contains(property)
                ? (Boolean) SystemPropertyUtil.getBoolean(property, true)
                : null;
    }

    /**
     * {@return the settings of the system properties}
     *
     * @throws IllegalArgumentException when a value is out of its range
     */
    public static FfmConfig defaults() {
        return new FfmConfig(
                SystemPropertyUtil.get(PREFIX + "device"),
                SystemPropertyUtil.getInt(PREFIX + "completions", 32767),
                SystemPropertyUtil.getLong(PREFIX + "registrationCache", 0),
                SystemPropertyUtil.getInt(PREFIX + "resolveMillis", 2000),
                windows(PREFIX + "windows"));
    }
}
