// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.BindException;
import java.net.InetSocketAddress;

/**
 * Explains in one sentence why an address cannot be bound; the socket's own message lacks even the address.
 */
final class BindExceptionMessages {

    /** Lower ports may need a privilege: {@code net.ipv4.ip_unprivileged_port_start} of Linux. */
    private static final int FIRST_UNPRIVILEGED = 1024;

    private BindExceptionMessages() {}

    /**
     * Returns the failure with an explanation.
     *
     * @param what the operation: "listen at", "connect from"
     * @return the same exception if it names the address: providers for hardware give their own advice
     */
    static BindException explained(String what, InetSocketAddress address, BindException failure) {
        String message = String.valueOf(failure.getMessage());
        if (message.contains(":" + address.getPort())) {
            return failure;
        }
        BindException clear =
                new BindException(
                        "Cannot "
                                + what
                                + ' '
                                + address
                                + ": "
                                + message
                                + "; the port has to be free, and the address one of this machine"
                                + privilege(address.getPort()));
        clear.initCause(failure);
        return clear;
    }

    private static String privilege(int port) {
        return port == 0 || port >= FIRST_UNPRIVILEGED
                ? ""
                : "; ports below " + FIRST_UNPRIVILEGED + " may need a privilege";
    }
}
