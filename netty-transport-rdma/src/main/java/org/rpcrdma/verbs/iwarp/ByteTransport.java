// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.ScatteringByteChannel;

/**
 * Byte transport of a stream's FPDUs, in both directions and in order: a TCP connection, or memory that both ends
 * have mapped beside one. It never blocks. Its end, orderly or not, is told by reading, behind all that the peer has
 * sent before.
 */
interface ByteTransport extends ScatteringByteChannel, GatheringByteChannel {

    /** Sets the listener. */
    void carry(ByteTransportEventHandler user);

    /** Sets the events of interest. */
    void await(boolean bytes, boolean room);

    /** The largest ULPDU that suits it. */
    int mulpdu(boolean markers);

    /** Shuts down the output: the peer reads all written bytes, then the end. */
    void shutdownOutput() throws IOException;

    /** Closes. The peer can still read all written bytes, unless this end has unread ones. */
    @Override
    void close();

    @Override
    default long write(ByteBuffer[] sources) throws IOException {
        return write(sources, 0, sources.length);
    }

    @Override
    default long read(ByteBuffer[] targets) throws IOException {
        return read(targets, 0, targets.length);
    }
}
