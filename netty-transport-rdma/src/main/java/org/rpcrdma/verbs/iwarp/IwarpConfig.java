// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.time.Duration;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;
import org.rpcrdma.verbs.iwarp.mpa.Fpdu;

/**
 * The settings of the software RNIC. {@link #defaults()} suits the Linux kernel's soft-iWARP.
 *
 * @param crc when the CRC of RFC 5044 is used
 * @param maxUlpdu the largest ULPDU to send in bytes, 128 to 64768; 0 takes it from the MTU of the local interface, so
 *     that an FPDU fits one TCP segment (RFC 5044, 5.1), which hardware peers may need
 * @param peerToPeer whether a connecting end offers the peer-to-peer model of RFC 6581, so that the accepting end may
 *     speak first; Intel hardware needs it
 * @param responderTimeout how long an accepted TCP connection may take for its MPA Request
 * @param initiatorTimeout how long a peer may take for the TCP connection, and then for its MPA Reply
 * @param drainTimeout how long an ended connection may take to send what it owes and to see the peer's end
 * @param maxHalfOpen the most accepted TCP connections per listener that have not sent their MPA Request; the oldest
 *     makes room for a new one
 * @param maxExposures the most ranges exposed at a time in one context, up to 2^23
 * @param socketBuffer bytes of the TCP send and receive buffers; 0 leaves them to the operating system
 */
public record IwarpConfig(
        CrcPolicy crc,
        int maxUlpdu,
        boolean peerToPeer,
        Duration responderTimeout,
        Duration initiatorTimeout,
        Duration drainTimeout,
        int maxHalfOpen,
        int maxExposures,
        int socketBuffer) {

    private static final IwarpConfig DEFAULTS =
            new IwarpConfig(
                    CrcPolicy.ACCEPT,
                    0,
                    true,
                    Duration.ofSeconds(5),
                    Duration.ofSeconds(10),
                    Duration.ofSeconds(2),
                    128,
                    1 << 20,
                    0);

    public IwarpConfig {
        if (maxUlpdu != 0 && (maxUlpdu < Fpdu.MIN_MULPDU || maxUlpdu > Fpdu.MAX_ULPDU)) {
            throw new IllegalArgumentException(
                    "maxUlpdu is " + maxUlpdu + ", expected 0 or 128 to 64768 bytes");
        }
        positive("maxHalfOpen", maxHalfOpen, 1 << 16);
        positive("maxExposures", maxExposures, 1 << 23);
        if (socketBuffer < 0) {
            throw new IllegalArgumentException(
                    "socketBuffer is " + socketBuffer + ", expected 0 or more bytes");
        }
        positive("responderTimeout", responderTimeout);
        positive("initiatorTimeout", initiatorTimeout);
        positive("drainTimeout", drainTimeout);
    }

    private static void positive(String name, int value, int maximum) {
        if (value < 1 || value > maximum) {
            throw new IllegalArgumentException(
                    name + " is " + value + ", expected 1 to " + maximum);
        }
    }

    private static void positive(String name, Duration value) {
        if (value.isNegative() || value.isZero() || value.compareTo(Duration.ofDays(1)) > 0) {
            throw new IllegalArgumentException(
                    name + " is " + value + ", expected more than 0 and at most a day");
        }
    }

    /** CRC obeyed but not asked for, peer-to-peer model, 5 s and 10 s start-up time-outs. */
    public static IwarpConfig defaults() {
        return DEFAULTS;
    }

    public IwarpConfig withCrc(CrcPolicy value) {
        return new IwarpConfig(
                value,
                maxUlpdu,
                peerToPeer,
                responderTimeout,
                initiatorTimeout,
                drainTimeout,
                maxHalfOpen,
                maxExposures,
                socketBuffer);
    }

    public IwarpConfig withMaxUlpdu(int value) {
        return new IwarpConfig(
                crc,
                value,
                peerToPeer,
                responderTimeout,
                initiatorTimeout,
                drainTimeout,
                maxHalfOpen,
                maxExposures,
                socketBuffer);
    }

    public IwarpConfig withPeerToPeer(boolean value) {
        return new IwarpConfig(
                crc,
                maxUlpdu,
                value,
                responderTimeout,
                initiatorTimeout,
                drainTimeout,
                maxHalfOpen,
                maxExposures,
                socketBuffer);
    }

    /** Sets the start-up time-outs. */
    public IwarpConfig withTimeouts(Duration responder, Duration initiator, Duration drain) {
        return new IwarpConfig(
                crc,
                maxUlpdu,
                peerToPeer,
                responder,
                initiator,
                drain,
                maxHalfOpen,
                maxExposures,
                socketBuffer);
    }

    public IwarpConfig withMaxHalfOpen(int value) {
        return new IwarpConfig(
                crc,
                maxUlpdu,
                peerToPeer,
                responderTimeout,
                initiatorTimeout,
                drainTimeout,
                value,
                maxExposures,
                socketBuffer);
    }

    public IwarpConfig withMaxExposures(int value) {
        return new IwarpConfig(
                crc,
                maxUlpdu,
                peerToPeer,
                responderTimeout,
                initiatorTimeout,
                drainTimeout,
                maxHalfOpen,
                value,
                socketBuffer);
    }

    public IwarpConfig withSocketBuffer(int value) {
        return new IwarpConfig(
                crc,
                maxUlpdu,
                peerToPeer,
                responderTimeout,
                initiatorTimeout,
                drainTimeout,
                maxHalfOpen,
                maxExposures,
                value);
    }
}
