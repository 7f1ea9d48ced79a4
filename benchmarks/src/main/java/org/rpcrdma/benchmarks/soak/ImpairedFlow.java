// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/** One direction of a connection through a link. For the network's thread. */
final class ImpairedFlow {

    private static final int PORTION_BYTES = 1 << 16;

    private final SocketChannel from;
    private final SocketChannel to;
    private final boolean isToServer;
    private final ByteBuffer bytes = ByteBuffer.allocateDirect(PORTION_BYTES).limit(0);

    /** When the portion may go on. */
    private long dueNanos;

    private boolean hasEnded;
    private boolean isShut;

    ImpairedFlow(SocketChannel from, SocketChannel to, boolean isToServer) {
        this.from = from;
        this.to = to;
        this.isToServer = isToServer;
    }

    /** Moves what may be moved by now; returns how many bytes that were. */
    int pump(Impairment fault, long now, int most) throws IOException {
        if (isShut || fault.stalls(isToServer)) {
            return 0;
        }
        if (!bytes.hasRemaining() && !hasEnded) {
            bytes.clear();
            hasEnded = from.read(bytes) < 0;
            bytes.flip();
            boolean isLate = fault.kind() == Impairment.Kind.DELAY;
            dueNanos = now + (isLate ? TimeUnit.MILLISECONDS.toNanos(fault.amount()) : 0);
        }
        int moved = 0;
        if (bytes.hasRemaining() && dueNanos - now <= 0) {
            int all = bytes.limit();
            boolean isPiece = fault.kind() == Impairment.Kind.PIECES;
            int piece = Math.min(most, isPiece ? fault.amount() : PORTION_BYTES);
            bytes.limit(Math.min(all, bytes.position() + piece));
            moved = to.write(bytes);
            bytes.limit(all);
        }
        if (hasEnded && !bytes.hasRemaining()) {
            isShut = true;
            to.shutdownOutput();
        }
        return moved;
    }

    /** Whether nothing comes any more. */
    boolean isShut() {
        return isShut;
    }

    boolean wantsBytes() {
        return !hasEnded && !bytes.hasRemaining();
    }

    boolean wantsRoom() {
        return bytes.hasRemaining();
    }
}
