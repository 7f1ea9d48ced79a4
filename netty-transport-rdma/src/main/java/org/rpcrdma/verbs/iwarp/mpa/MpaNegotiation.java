// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.net.ConnectException;

/**
 * Result of the negotiation by the two start-up frames: RFC 5044, 7.1 and RFC 6581, 9.
 *
 * @param crc whether the CRC is on
 * @param markersIn whether the peer sends markers, because this end asked for them
 * @param markersOut whether the peer asked for markers
 * @param ird the Reads that the peer may have outstanding here
 * @param ord the Reads that may be outstanding at the peer
 * @param rtr what the initiator sends before anything else, {@code null} in the client-server model. At a responder it
 *     is the one form that its Reply lists, {@code null} when it lists several
 */
public record MpaNegotiation(
        boolean crc, boolean markersIn, boolean markersOut, int ird, int ord, Rtr rtr) {

    /** Read depth assumed of a peer of revision 1 or without enhanced data, which does not negotiate it. */
    private static final int UNNEGOTIATED_ORD = 1;

    /** The Request of an initiator. */
    public static MpaStartupFrame request(
            MpaStartupSettings options, int ird, int ord, byte[] privateData) {
        boolean enhanced = options.revision() >= 2;
        boolean send = options.offered().contains(Rtr.ZERO_LENGTH_SEND);
        boolean write = options.offered().contains(Rtr.ZERO_LENGTH_WRITE);
        // A Read needs a read depth.
        boolean read = options.offered().contains(Rtr.ZERO_LENGTH_READ) && ord > 0;
        return new MpaStartupFrame(
                true,
                options.markers(),
                options.crc() == CrcPolicy.REQUIRE,
                false,
                enhanced,
                options.revision(),
                enhanced && (send || write || read),
                send,
                write,
                read,
                ird,
                ord,
                privateData);
    }

    /**
     * Why a Request cannot be accepted, independent of the ULP; {@code null} if it can.
     */
    public static String objection(MpaStartupFrame request, MpaStartupSettings options) {
        if (request.crc() && options.crc() == CrcPolicy.OFF) {
            return "it asks for the CRC, which is switched off here";
        }
        return null;
    }

    /** The Reply that rejects a Request. */
    public static MpaStartupFrame rejection(MpaStartupFrame request, byte[] privateData) {
        return new MpaStartupFrame(
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
     * Computes the parameters that a responder agrees to.
     *
     * @param ird the most Reads to admit
     * @param ord the most Reads wanted
     */
    public static MpaNegotiation respond(
            MpaStartupFrame request, MpaStartupSettings options, int ird, int ord) {
        boolean crc = request.crc() || options.crc() == CrcPolicy.REQUIRE;
        boolean in = options.markers();
        boolean out = request.markers();
        if (!request.enhanced()) {
            return new MpaNegotiation(crc, in, out, ird, Math.min(ord, UNNEGOTIATED_ORD), null);
        }
        // RFC 6581, 9.1: each depth answers the opposite one of the peer, if that is negotiated.
        int agreedIrd = lower(ird, request.ord());
        int agreedOrd = lower(ord, request.ird());
        if (request.peerToPeer() && request.rtrRead()) {
            // The RTR itself may be a Read, which needs a slot.
            agreedIrd = Math.max(agreedIrd, 1);
        }
        boolean sendOnly =
                request.peerToPeer()
                        && request.rtrSend()
                        && !request.rtrWrite()
                        && !request.rtrRead();
        return new MpaNegotiation(
                crc, in, out, agreedIrd, agreedOrd, sendOnly ? Rtr.ZERO_LENGTH_SEND : null);
    }

    private static int lower(int own, int peers) {
        return peers == MpaStartupFrame.DEPTH_NOT_NEGOTIATED ? own : Math.min(own, peers);
    }

    /** The Reply that tells an initiator what {@link #respond} agreed to. */
    public MpaStartupFrame reply(MpaStartupFrame request, byte[] privateData) {
        boolean enhanced = request.enhanced();
        boolean peerToPeer = enhanced && request.peerToPeer();
        boolean send = rtr == Rtr.ZERO_LENGTH_SEND;
        return new MpaStartupFrame(
                false,
                markersIn,
                crc,
                false,
                enhanced,
                request.revision(),
                peerToPeer,
                send,
                // RFC 6581, 9.2: at least one form is listed, even if none was asked for.
                peerToPeer && (request.rtrWrite() || !(request.rtrRead() || send)),
                peerToPeer && request.rtrRead(),
                answer(request.ord(), ird),
                answer(request.ird(), ord),
                privateData);
    }

    /** The same for a stream that does not run over TCP, where there are neither CRC nor markers. */
    public MpaNegotiation withoutTcp() {
        return new MpaNegotiation(false, false, false, ird, ord, rtr);
    }

    /** RFC 6581, 9.1: send no depth to a peer that does not negotiate one. */
    private static int answer(int asked, int agreed) {
        return asked == MpaStartupFrame.DEPTH_NOT_NEGOTIATED
                ? MpaStartupFrame.DEPTH_NOT_NEGOTIATED
                : agreed;
    }

    /**
     * Computes the parameters of an initiator from an accepting Reply.
     *
     * @throws StreamException when there is no agreement
     * @throws ConnectException when the peer asks for what is refused here
     */
    public static MpaNegotiation conclude(
            MpaStartupFrame request, MpaStartupFrame reply, MpaStartupSettings options)
            throws StreamException, ConnectException {
        if (reply.revision() != request.revision() || reply.enhanced() != request.enhanced()) {
            throw new StreamException(
                    MpaError.INVALID_FRAME,
                    "MPA Reply has revision "
                            + described(reply)
                            + ", expected revision "
                            + described(request)
                            + "; see IwarpConfig.mpaRevision");
        }
        if (reply.crc() && options.crc() == CrcPolicy.OFF) {
            throw new ConnectException(
                    "The MPA Reply asks for the CRC, which is switched off here by CrcPolicy.OFF");
        }
        if (!request.enhanced()) {
            return new MpaNegotiation(
                    request.crc() || reply.crc(),
                    request.markers(),
                    reply.markers(),
                    request.ird(),
                    Math.min(request.ord(), UNNEGOTIATED_ORD),
                    null);
        }
        if (reply.ord() != MpaStartupFrame.DEPTH_NOT_NEGOTIATED && reply.ord() > request.ird()) {
            throw new StreamException(
                    MpaError.INSUFFICIENT_IRD,
                    "MPA Reply announces "
                            + reply.ord()
                            + " outstanding Reads, at most "
                            + request.ird()
                            + " fit here");
        }
        int ord = lower(request.ord(), reply.ird());
        return new MpaNegotiation(
                request.crc() || reply.crc(),
                request.markers(),
                reply.markers(),
                request.ird(),
                ord,
                request.peerToPeer() && reply.peerToPeer() ? rtr(reply, ord) : null);
    }

    private static String described(MpaStartupFrame frame) {
        return frame.revision()
                + (frame.enhanced() ? " with" : " without")
                + " enhanced data (RFC 6581)";
    }

    /** RFC 6581, 9.2: the responder may list forms that were not offered. */
    private static Rtr rtr(MpaStartupFrame reply, int ord) throws StreamException {
        if (reply.rtrWrite()) {
            return Rtr.ZERO_LENGTH_WRITE;
        }
        if (reply.rtrRead() && ord > 0) {
            return Rtr.ZERO_LENGTH_READ;
        }
        if (reply.rtrSend()) {
            return Rtr.ZERO_LENGTH_SEND;
        }
        throw new StreamException(
                MpaError.NO_MATCHING_RTR,
                "MPA Reply lists no ready-to-receive message that can be sent (RFC 6581, 9.2)");
    }
}
