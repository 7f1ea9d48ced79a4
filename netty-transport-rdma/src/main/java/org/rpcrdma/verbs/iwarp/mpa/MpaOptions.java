// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

/**
 * What one end wants of a start-up, in either role.
 *
 * @param crc when the CRC is used
 * @param markers whether to ask the peer for markers
 * @param peerToPeer whether to offer the peer-to-peer model as initiator
 */
public record MpaOptions(CrcPolicy crc, boolean markers, boolean peerToPeer) {}
