// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

/**
 * What the two start-up frames agree on: RFC 5044, 7.1 and RFC 6581, 9.
 *
 * @param crc whether the CRC is on
 * @param markersIn whether the peer sends markers, because this end asked for them
 * @param markersOut whether the peer asked for markers
 * @param ird the Reads that the peer may have outstanding here
 * @param ord the Reads that may be outstanding at the peer
 * @param rtr what the initiator sends before anything else
 */
public record MpaNegotiation(
        boolean crc, boolean markersIn, boolean markersOut, int ird, int ord, Rtr rtr) {

    /** Read depth taken for a peer of revision 1 or without enhanced data, which says nothing about it. */
    private static final int UNNEGOTIATED_ORD = 1;

    /** The Request of an initiator. If it offers the peer-to-peer model, then with a zero-length Write or Read as RTR. */
    public static MpaFrame request(MpaOptions options, int ird, int ord, byte[] privateData) {
        boolean peerToPeer = options.peerToPeer();
        return new MpaFrame(
                true,
                options.markers(),
                options.crc() == CrcPolicy.REQUIRE,
                false,
                true,
                2,
                peerToPeer,
                false,
                peerToPeer,
                // A Read needs a read depth: without one only the Write is offered.
                peerToPeer && ord > 0,
                ird,
                ord,
                privateData);
    }

    /**
     * Why a Request cannot be accepted, whatever the ULP says, or {@code null} when it can.
     */
    public static String objection(MpaFrame request, MpaOptions options) {
        if (request.crc() && options.crc() == CrcPolicy.OFF) {
            return "it asks for the CRC, which is switched off here";
        }
        return null;
    }

    /** The Reply that rejects a Request. */
    public static MpaFrame rejection(MpaFrame request, byte[] privateData) {
        return new MpaFrame(
                false,
                false,
                request.crc(),
                true,
                request.enhanced(),
                request.revision(),
                false,
                false,
                false,
                false,
                0,
                0,
                privateData);
    }

    /**
     * What a responder agrees to.
     *
     * @param ird the most Reads to admit
     * @param ord the most Reads wanted
     */
    public static MpaNegotiation respond(MpaFrame request, MpaOptions options, int ird, int ord) {
        boolean crc = request.crc() || options.crc() == CrcPolicy.REQUIRE;
        boolean in = options.markers();
        boolean out = request.markers();
        if (!request.enhanced()) {
            return new MpaNegotiation(crc, in, out, ird, Math.min(ord, UNNEGOTIATED_ORD), Rtr.NONE);
        }
        // RFC 6581, 9.1: each depth of the Reply answers the opposite one of the Request.
        int agreedIrd = Math.min(ird, request.ord());
        int agreedOrd = Math.min(ord, request.ird());
        if (request.peerToPeer() && request.rtrRead()) {
            // The RTR itself may be a Read, which needs a slot.
            agreedIrd = Math.max(agreedIrd, 1);
        }
        return new MpaNegotiation(crc, in, out, agreedIrd, agreedOrd, Rtr.NONE);
    }

    /** The Reply that tells an initiator what {@link #respond} agreed to. */
    public MpaFrame reply(MpaFrame request, byte[] privateData) {
        boolean peerToPeer = request.enhanced() && request.peerToPeer();
        return new MpaFrame(
                false,
                markersIn,
                crc,
                false,
                request.enhanced(),
                request.revision(),
                peerToPeer,
                false,
                // At least one form has to be listed, and it may be one that was not asked for.
                peerToPeer && (request.rtrWrite() || !request.rtrRead()),
                peerToPeer && request.rtrRead(),
                request.enhanced() ? ird : 0,
                request.enhanced() ? ord : 0,
                privateData);
    }

    /**
     * What an initiator makes of a Reply that does not reject.
     *
     * @throws StreamException when there is no agreement
     */
    public static MpaNegotiation conclude(MpaFrame request, MpaFrame reply, MpaOptions options)
            throws StreamException {
        if (!reply.enhanced()) {
            throw new StreamException(
                    MpaError.INVALID_FRAME,
                    "MPA Reply has revision "
                            + reply.revision()
                            + " and no enhanced data (RFC 6581); the peer needs MPA revision 2");
        }
        if (reply.crc() && options.crc() == CrcPolicy.OFF) {
            throw new StreamException(
                    MpaError.INVALID_FRAME,
                    "MPA Reply asks for the CRC, which is switched off here");
        }
        boolean depthTold = reply.ord() != MpaFrame.DEPTH_NOT_NEGOTIATED;
        if (depthTold && reply.ord() > request.ird()) {
            throw new StreamException(
                    MpaError.INSUFFICIENT_IRD,
                    "MPA Reply announces "
                            + reply.ord()
                            + " outstanding Reads, at most "
                            + request.ird()
                            + " fit here");
        }
        int ord = Math.min(request.ord(), reply.ird());
        return new MpaNegotiation(
                request.crc() || reply.crc(),
                request.markers(),
                reply.markers(),
                request.ird(),
                ord,
                rtr(request, reply));
    }

    private static Rtr rtr(MpaFrame request, MpaFrame reply) throws StreamException {
        if (!request.peerToPeer() || !reply.peerToPeer()) {
            return Rtr.NONE;
        }
        if (reply.rtrWrite()) {
            return Rtr.ZERO_LENGTH_WRITE;
        }
        if (reply.rtrRead() && Math.min(request.ord(), reply.ird()) > 0) {
            return Rtr.ZERO_LENGTH_READ;
        }
        throw new StreamException(
                MpaError.NO_MATCHING_RTR,
                "MPA Reply offers no ready-to-receive message that fits the Request (RFC 6581,"
                        + " 9.2)");
    }
}
