// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A version of RPC-over-RDMA as it is spoken on one connection: the length of its header and its inline thresholds,
 * which are all that the handlers need to know to plan a message.
 *
 * @param number the version word
 * @param sendThreshold the longest Send to the peer in bytes
 * @param receiveThreshold the longest Send from the peer in bytes
 * @param inlineArguments the longest Send in bytes of a call from here that has no chunk where it could have one
 * @param inlineResults the longest Send in bytes of a reply to here that needs no chunk where it could have one
 */
record ProtocolVersion(
        int number,
        int sendThreshold,
        int receiveThreshold,
        int inlineArguments,
        int inlineResults) {

    /** The first messages of version 2, both ways, until its larger threshold is agreed on (draft, 5.1). */
    static final int PROBE_THRESHOLD = 1024;

    /** The default threshold of version 2: every receiver takes that much (draft, 2.3). */
    static final int VERSION_TWO_THRESHOLD = 4096;

    /** Where everything goes inline that fits. */
    ProtocolVersion(int number, int sendThreshold, int receiveThreshold) {
        this(number, sendThreshold, receiveThreshold, sendThreshold, receiveThreshold);
    }

    /** Version 1: what both sides have announced (RFC 8797), or the smaller long size where both have one. */
    static ProtocolVersion one(PrivateData own, PrivateData peer, RpcRdmaConfig config) {
        int send = usual(own, peer);
        int receive = usual(peer, own);
        int longest = Math.min(own.longSize(), peer.longSize());
        return new ProtocolVersion(
                TransportHeader.VERSION_ONE,
                Math.max(send, longest),
                Math.max(receive, longest),
                Math.max(send, Math.min(longest, config.inlineArguments())),
                Math.max(receive, Math.min(longest, config.inlineResults())));
    }

    /** The longest Send from one to the other by what all peers know. */
    private static int usual(PrivateData sender, PrivateData receiver) {
        return Math.min(sender.sendSize(), receiver.receiveSize());
    }

    /** Version 2: its default, or more when both sides have announced it. Long sizes belong to version 1. */
    static ProtocolVersion two(PrivateData own, PrivateData peer) {
        return new ProtocolVersion(
                TransportHeader.VERSION_TWO,
                Math.max(VERSION_TWO_THRESHOLD, usual(own, peer)),
                Math.max(VERSION_TWO_THRESHOLD, usual(peer, own)));
    }

    /** Version 2 before the other side is known to speak it. */
    static ProtocolVersion probe() {
        return new ProtocolVersion(TransportHeader.VERSION_TWO, PROBE_THRESHOLD, PROBE_THRESHOLD);
    }

    /** Whether a Send may have so many bytes. */
    boolean fitsSend(int bytes) {
        return bytes <= sendThreshold;
    }

    /**
     * The bytes that are left for the payload in a Send to the peer; negative when not even the header fits.
     *
     * @param listsBytes what its three lists take
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

    /** As {@link #receiveRoom}, for results that could come in a chunk. */
    int resultsRoom(int listsBytes) {
        return inlineResults - TransportHeader.listsOffset(number) - listsBytes;
    }
}
