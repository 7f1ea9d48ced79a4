// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import java.net.InetAddress;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Accepts peers whose address is in one of several ranges, rejects all others. Immutable. */
public final class AddressAllowList implements AdmissionPolicy {

    private static final AdmissionDecision REJECT =
            AdmissionDecision.reject("the address is not on the allow-list");

    private final List<CidrRange> ranges;

    private AddressAllowList(List<CidrRange> ranges) {
        this.ranges = ranges;
    }

    /**
     * {@return a list of ranges}
     *
     * @param ranges in the notation of RFC 4632 and RFC 4291: {@code 192.0.2.0/24}, {@code 2001:db8::/32}, or one
     *     address
     * @throws IllegalArgumentException if one is no range, such as a host name, or has bits beyond its prefix length
     */
    public static AddressAllowList of(String... ranges) {
        return of(List.of(ranges));
    }

    /**
     * {@return a list of ranges}
     *
     * @param ranges as in {@link #of(String...)}; none rejects every peer
     * @throws IllegalArgumentException if one is no range, such as a host name, or has bits beyond its prefix length
     */
    public static AddressAllowList of(Collection<String> ranges) {
        return new AddressAllowList(ranges.stream().map(CidrRange::parse).toList());
    }

    /**
     * {@return whether an address is in one of the ranges} The zone of an IPv6 address is ignored.
     *
     * @param address of either version; an IPv4 address is in no range of IPv6
     */
    public boolean contains(InetAddress address) {
        byte[] bytes = address.getAddress();
        for (CidrRange range : ranges) {
            if (range.contains(bytes)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public CompletionStage<AdmissionDecision> decide(AdmissionRequest request) {
        boolean isListed = contains(request.remoteAddress().getAddress());
        return CompletableFuture.completedStage(isListed ? AdmissionDecision.accept() : REJECT);
    }

    @Override
    public String toString() {
        return "AddressAllowList" + ranges;
    }
}
