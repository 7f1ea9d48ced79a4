// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;

/**
 * Base class of what receives a TCP stream in a staging buffer lent for one receive. Between two receives a subclass
 * that has given its buffer back keeps a copy of the partial FPDU.
 */
public abstract class AbstractStagingBufferReceiver {

    /** So few bytes are copied into memory that the reader has: the copy costs less than the buffer. */
    public static final int FEW_BYTES = 128;

    /** Bytes from {@link #start} to {@link #end} are read and not yet handled. */
    ByteBuffer staging;

    int start;
    int end;

    /** Whether the buffer is a pooled staging buffer, not the copy of a rest. */
    private boolean isLent;

    /** For copies; {@code null} until there is one. */
    private ByteBuffer few;

    /** @param staging lent; {@code null} where {@link #staging} lends one later */
    AbstractStagingBufferReceiver(ByteBuffer staging) {
        this.staging = staging;
        isLent = staging != null;
    }

    /** Where the bytes begin that are not handled yet. */
    int first() {
        return start;
    }

    /** All that is left in the staging buffer stands so many bytes before where it stood. */
    void moved(int bytes) {
        start -= bytes;
        end -= bytes;
    }

    /** The bytes that were read and not handled yet. */
    public final int staged() {
        return end - first();
    }

    /** The staging buffer that is lent, or {@code null}: nothing may be received without one. */
    public final ByteBuffer lent() {
        return isLent ? staging : null;
    }

    /**
     * Lends a staging buffer, where there is none, until it is taken or dropped.
     *
     * @param buffer has more room than {@link #staged()} bytes
     */
    public final void staging(ByteBuffer buffer) {
        if (staging != null) {
            copyTo(buffer);
        }
        staging = buffer;
        isLent = true;
    }

    /** Removes and returns the staging buffer, or {@code null} if there is none; keeps a copy of unhandled bytes. */
    public final ByteBuffer takeStaging() {
        if (!isLent) {
            return null;
        }
        ByteBuffer taken = staging;
        int bytes = staged();
        if (bytes == 0) {
            moved(first());
            staging = null;
        } else {
            ByteBuffer copy = memory(bytes);
            copyTo(copy);
            staging = copy;
        }
        isLent = false;
        return taken;
    }

    private ByteBuffer memory(int bytes) {
        if (bytes > FEW_BYTES) {
            return ByteBuffer.allocate(bytes);
        }
        if (few == null) {
            few = ByteBuffer.allocate(FEW_BYTES);
        }
        return few;
    }

    /** Moves the unhandled bytes to the beginning of a buffer. */
    private void copyTo(ByteBuffer buffer) {
        int first = first();
        buffer.put(0, staging, first, end - first);
        moved(first);
    }

    /** Removes and returns the staging buffer, or {@code null} if there is none. No more data may be received. */
    public final ByteBuffer dropStaging() {
        ByteBuffer dropped = lent();
        staging = null;
        isLent = false;
        return dropped;
    }
}
