// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Version of RPC-over-RDMA on one connection: version number and inline thresholds, from which the handlers plan
 * messages.
 */
final class VersionInlineThresholds {

    /** Threshold of the first messages of version 2, both ways, until the larger threshold is agreed (draft, 5.1). */
    static final int PROBE_THRESHOLD = 1024;

    /** The default threshold of version 2: every receiver accepts it (draft, 2.3). */
    static final int VERSION_TWO_THRESHOLD = 4096;

    /** The version word. */
    final int number;

    /** The longest Send to the peer in bytes. */
    final int sendThreshold;

    /** The longest Send from the peer in bytes. */
    final int receiveThreshold;

    /** The longest Send in bytes of an outbound call whose arguments stay inline although chunks are possible. */
    private final int inlineArguments;

    /** Bytes left for the payload in a Send to the peer that has no chunks. */
    final int plainRoom;

    /** The most bytes of an outbound call that goes without chunks although they are possible. */
    final int plainArguments;

    /** The most bytes of an inbound reply that comes without chunks although they are possible. */
    final int plainResults;

    /**
     * @param inlineResults the longest Send in bytes of an inbound reply whose results come inline although chunks are
     *     possible
     */
    VersionInlineThresholds(
            int number,
            int sendThreshold,
            int receiveThreshold,
            int inlineArguments,
            int inlineResults) {
        this.number = number;
        this.sendThreshold = sendThreshold;
        this.receiveThreshold = receiveThreshold;
        this.inlineArguments = inlineArguments;
        int header = TransportHeader.listsOffset(number) + TransportHeader.EMPTY_LISTS_BYTES;
        plainRoom = sendThreshold - header;
        plainArguments = inlineArguments - header;
        plainResults = inlineResults - header;
    }

    /** A version in which every message that fits one Send is inline. */
    VersionInlineThresholds(int number, int sendThreshold, int receiveThreshold) {
        this(number, sendThreshold, receiveThreshold, sendThreshold, receiveThreshold);
    }

    /**
     * Version 1: the thresholds that both sides have announced (RFC 8797), or the smaller long size if both have one.
     */
    static VersionInlineThresholds one(PrivateData own, PrivateData peer, RpcRdmaConfig config) {
        int send = usual(own, peer);
        int receive = usual(peer, own);
        int longest = Math.min(own.longSize(), peer.longSize());
        return new VersionInlineThresholds(
                TransportHeader.VERSION_ONE,
                Math.max(send, longest),
                Math.max(receive, longest),
                Math.max(send, Math.min(longest, config.inlineArguments())),
                Math.max(receive, Math.min(longest, config.inlineResults())));
    }

    /** The inline threshold from one side to the other by RFC 8797. */
    private static int usual(PrivateData sender, PrivateData receiver) {
        return Math.min(sender.sendSize(), receiver.receiveSize());
    }

    /** Version 2: its default, or more when both sides have announced it. Long sizes belong to version 1. */
    static VersionInlineThresholds two(PrivateData own, PrivateData peer) {
        return new VersionInlineThresholds(
                TransportHeader.VERSION_TWO,
                Math.max(VERSION_TWO_THRESHOLD, usual(own, peer)),
                Math.max(VERSION_TWO_THRESHOLD, usual(peer, own)));
    }

    /** Version 2 before the other side is known to speak it. */
    static VersionInlineThresholds probe() {
        return new VersionInlineThresholds(
                TransportHeader.VERSION_TWO, PROBE_THRESHOLD, PROBE_THRESHOLD);
    }

    /**
     * Bytes left for the payload in a Send to the peer; negative if not even the header fits.
     *
     * @param listsBytes bytes of its three chunk lists
     */
    int sendRoom(int listsBytes) {
        return sendThreshold - TransportHeader.listsOffset(number) - listsBytes;
    }

    /** As {@link #sendRoom}, for a Send from the peer. */
    int receiveRoom(int listsBytes) {
        return receiveThreshold - TransportHeader.listsOffset(number) - listsBytes;
    }

    /** As {@link #sendRoom}, for arguments that could go in a chunk. */
    int argumentsRoom(int listsBytes) {
        return inlineArguments - TransportHeader.listsOffset(number) - listsBytes;
    }
}
