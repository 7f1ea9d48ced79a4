// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Limits the connections of all peers together and those of one address. Counts a connection from its request until its
 * end, the time in which other policies decide included; so put it before policies that decide later: {@code
 * limits.and(other)}. May be the policy of several server channels, which then share the limits. Thread-safe.
 */
public final class ConnectionLimits implements AdmissionPolicy {

    private static final int WHOLE_ADDRESS = 128;
    private static final int IPV4_BYTES = 4;

    private final int limit;
    private final int addressLimit;
    private final int ipv6PrefixLength;

    /** Connections by address; an address without connections has no entry. */
    private final Map<ByteBuffer, Integer> byAddress = new HashMap<>();

    private int connections;

    /**
     * Limits that take each IPv6 address for a peer of its own.
     *
     * @param limit the most connections in all, from 1
     * @param addressLimit the most connections of one address, from 1
     */
    public ConnectionLimits(int limit, int addressLimit) {
        this(limit, addressLimit, WHOLE_ADDRESS);
    }

    /**
     * Limits that take IPv6 addresses with a common prefix for one peer: a host may use any address of its /64.
     *
     * @param limit the most connections in all, from 1
     * @param addressLimit the most connections of one address, from 1
     * @param ipv6PrefixLength 1 to 128 bits
     */
    public ConnectionLimits(int limit, int addressLimit, int ipv6PrefixLength) {
        this.limit = check("limit", limit, Integer.MAX_VALUE);
        this.addressLimit = check("addressLimit", addressLimit, Integer.MAX_VALUE);
        this.ipv6PrefixLength = check("ipv6PrefixLength", ipv6PrefixLength, WHOLE_ADDRESS);
    }

    private static int check(String name, int value, int most) {
        if (value < 1 || value > most) {
            throw new IllegalArgumentException(
                    name + ": " + value + " (expected: 1 to " + most + ')');
        }
        return value;
    }

    /** {@return the connections that count now} */
    public synchronized int connections() {
        return connections;
    }

    /** {@return the addresses, or prefixes of IPv6, that have connections now} */
    public synchronized int addresses() {
        return byAddress.size();
    }

    @Override
    public CompletionStage<AdmissionDecision> decide(AdmissionRequest request) {
        ByteBuffer peer = key(request.remoteAddress().getAddress().getAddress());
        AdmissionDecision decision = take(peer);
        if (decision.isAccepted()) {
            request.ended().thenRun(() -> giveBack(peer));
        }
        return CompletableFuture.completedStage(decision);
    }

    private synchronized AdmissionDecision take(ByteBuffer peer) {
        if (connections >= limit) {
            return AdmissionDecision.reject("the server has its limit of connections");
        }
        int ofPeer = byAddress.getOrDefault(peer, 0);
        if (ofPeer >= addressLimit) {
            return AdmissionDecision.reject("the address has its limit of connections");
        }
        byAddress.put(peer, ofPeer + 1);
        connections++;
        return AdmissionDecision.accept();
    }

    private synchronized void giveBack(ByteBuffer peer) {
        byAddress.computeIfPresent(peer, (key, count) -> count == 1 ? null : count - 1);
        connections--;
    }

    private ByteBuffer key(byte[] address) {
        return ByteBuffer.wrap(
                address.length == IPV4_BYTES
                        ? address
                        : CidrRange.masked(address, ipv6PrefixLength));
    }

    @Override
    public String toString() {
        return "ConnectionLimits("
                + connections()
                + " of "
                + limit
                + " connections, at most "
                + addressLimit
                + " of an address)";
    }
}
