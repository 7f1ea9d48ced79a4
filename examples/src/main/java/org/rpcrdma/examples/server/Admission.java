// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.net.InetAddress;
import org.rpcrdma.channel.admission.AddressAllowList;
import org.rpcrdma.channel.admission.AdmissionPolicy;
import org.rpcrdma.channel.admission.ConnectionLimits;

/**
 * Who may connect to a server, and how often.
 *
 * @param allowed the addresses of clients; {@code null} for any
 * @param ofAll the most connections over RDMA, and the most over TCP
 * @param ofAddress the most of one address, likewise
 */
public record Admission(AddressAllowList allowed, int ofAll, int ofAddress) {

    /** The most connections unless somebody says otherwise. */
    public static final int CONNECTIONS = 64;

    /** The most connections of one address unless somebody says otherwise. */
    public static final int CONNECTIONS_OF_ADDRESS = 16;

    /** Anybody, within the usual limits. */
    public static Admission usual() {
        return new Admission(null, CONNECTIONS, CONNECTIONS_OF_ADDRESS);
    }

    boolean allows(InetAddress address) {
        return allowed == null || allowed.contains(address);
    }

    /** Of one listener over RDMA. */
    AdmissionPolicy policy() {
        ConnectionLimits limits = new ConnectionLimits(ofAll, ofAddress);
        return allowed == null ? limits : allowed.and(limits);
    }
}
