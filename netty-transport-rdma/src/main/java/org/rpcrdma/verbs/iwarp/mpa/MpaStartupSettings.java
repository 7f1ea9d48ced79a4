// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.util.Set;

/**
 * Start-up options of one end, in either role.
 *
 * @param revision the MPA revision of its Requests, 1 or 2
 * @param crc when the CRC is used
 * @param markers whether to ask the peer for markers
 * @param offered the ready-to-receive messages that its Requests offer; none means the client-server model
 * @param maxPrivateData the most bytes of the ULP's private data to send, 0 to 512
 */
public record MpaStartupSettings(
        int revision, CrcPolicy crc, boolean markers, Set<Rtr> offered, int maxPrivateData) {

    public MpaStartupSettings {
        offered = Set.copyOf(offered);
    }

    /** The most bytes of private data in a frame: the enhanced data counts too (RFC 6581, 9). */
    public int maxPrivateData(boolean enhanced) {
        return Math.min(
                maxPrivateData,
                MpaStartupFrame.MAX_PRIVATE_DATA - (enhanced ? MpaStartupFrame.ENHANCED_BYTES : 0));
    }

    /**
     * Checks private data that is to be sent.
     *
     * @return a copy
     * @throws IllegalArgumentException when it is too long
     */
    public byte[] checked(byte[] privateData, boolean enhanced) {
        int limit = maxPrivateData(enhanced);
        if (privateData.length > limit) {
            throw new IllegalArgumentException(
                    "Private data has "
                            + privateData.length
                            + " bytes, expected at most "
                            + limit
                            + "; see IwarpConfig.maxPrivateData");
        }
        return privateData.clone();
    }
}
