// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Receives the ULPDUs of an {@link FpduReceiver}: implemented by the DDP layer.
 *
 * <p>An ULPDU comes as {@link #begin}, then its payload is put piece by piece where {@link #target} says, then {@link
 * #end}. The payload of a large one goes from the socket straight to the target.
 */
public interface UlpduHandler {

    /** Bytes of an ULPDU available at {@link #begin}, unless the ULPDU is shorter. */
    int LOOK_AHEAD = 70;

    /** Instead of a number of bytes: nothing has begun, the same ULPDU is offered again later. */
    int NOT_NOW = -1;

    /**
     * A ULPDU begins.
     *
     * @param bytes holds at least its first {@link #LOOK_AHEAD} bytes, or all of it; only valid during the call
     * @param at the index of its first byte
     * @param length the bytes of the whole ULPDU, 0 to 65535
     * @return the bytes at its end that are payload, for {@link #target}; or {@link #NOT_NOW}
     * @throws IOException when the stream must end; a {@link StreamException} names the rule that was broken
     */
    int begin(ByteBuffer bytes, int at, int length) throws IOException;

    /**
     * Where the next bytes of the payload go. It is asked again after every piece, because the memory may have been
     * revoked between two of them.
     *
     * @return a view from its position to its limit, not empty and not longer than what is left of the payload; valid
     *     until the next call
     */
    ByteBuffer target() throws IOException;

    /** So many bytes were put where {@link #target} said. */
    void placed(int bytes);

    /** The ULPDU is complete and its payload is in place. */
    void end() throws IOException;
}
