// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/**
 * Collects one start-up frame from a stream that may deliver it in any pieces.
 *
 * <p>It never reads beyond the frame: FPDUs that follow it at once (a responder that does not wait for the first FPDU
 * of the initiator) stay in the socket.
 */
public final class MpaStartupFrameReader {

    private final boolean request;
    private final ByteBuffer bytes =
            ByteBuffer.allocate(MpaStartupFrame.HEADER_BYTES + MpaStartupFrame.MAX_PRIVATE_DATA);
    private boolean headerSeen;

    /** @param request whether a Request is expected; otherwise a Reply */
    public MpaStartupFrameReader(boolean request) {
        this.request = request;
        bytes.limit(MpaStartupFrame.HEADER_BYTES);
    }

    /**
     * Reads what is there.
     *
     * @return the frame once it is complete, or {@code null}
     * @throws StreamException when the frame is malformed
     * @throws IOException when the stream has ended before the frame was complete
     */
    public MpaStartupFrame read(ReadableByteChannel channel) throws IOException {
        while (bytes.hasRemaining()) {
            int read = channel.read(bytes);
            if (read < 0) {
                throw new IOException(
                        "The peer closed the connection after "
                                + bytes.position()
                                + " bytes of its MPA start-up frame");
            }
            if (read == 0) {
                return null;
            }
            if (!headerSeen && !bytes.hasRemaining()) {
                headerSeen = true;
                bytes.limit(
                        MpaStartupFrame.HEADER_BYTES
                                + MpaStartupFrame.privateDataLength(bytes, request));
            }
        }
        return MpaStartupFrame.decode(bytes, request);
    }
}
