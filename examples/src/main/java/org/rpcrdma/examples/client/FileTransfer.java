// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.function.LongConsumer;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.examples.nfs.NfsHandle;

/**
 * Copies file contents, with several READs or WRITEs out at a time. The thread that calls does the local file's work.
 */
public final class FileTransfer {

    private static final int TRANSFER_MAX = 1 << 20;
    private static final int CALLS_OUT = 8;

    /** Data that a server has forgotten in a restart is written again; a server that starts so often is not well. */
    private static final int ATTEMPTS = 3;

    private record Piece<T>(long offset, int length, RpcFuture<T> call) {}

    private interface Start<T> {
        RpcFuture<T> call(long offset, int length) throws IOException;
    }

    private interface End<T> {
        /** Returns how many bytes of the piece are done. */
        int count(long offset, T result) throws IOException;
    }

    private final Nfs3Client nfs;
    private final Nfs3Client.Limits limits;
    private final LongConsumer progress;

    /**
     * @param limits what the server takes
     * @param progress is told the number of bytes that were copied since it was told last; negative when they were lost
     */
    public FileTransfer(Nfs3Client nfs, Nfs3Client.Limits limits, LongConsumer progress) {
        this.nfs = nfs;
        this.limits = limits;
        this.progress = progress;
    }

    /**
     * Reads a remote file into a local one.
     *
     * @param size of the remote file, in bytes
     * @throws IOException if the file became shorter meanwhile, too
     */
    public void get(NfsHandle file, String name, long size, FileChannel local) throws IOException {
        this.<Nfs3Client.ReadResult>copy(
                size,
                limits.read(),
                (offset, length) -> nfs.read(file, name, offset, length),
                (offset, result) -> {
                    int count = result.data().readableBytes();
                    try {
                        writeFully(result.data(), local, offset);
                    } finally {
                        result.data().release();
                    }
                    if (result.endOfFile() && offset + count < size) {
                        throw new IOException(name + ": the file became shorter while it was read");
                    } else if (count == 0) {
                        throw new IOException(name + ": the server reads nothing at " + offset);
                    }
                    return count;
                });
    }

    /** Writes a local file into a remote one, from the start, and commits it. */
    public void put(FileChannel local, NfsHandle file, String name) throws IOException {
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            long size = local.size();
            Set<Long> verifiers = new HashSet<>();
            this.<Nfs3Client.WriteResult>copy(
                    size,
                    limits.write(),
                    (offset, length) ->
                            nfs.write(file, name, offset, readFully(local, offset, length)),
                    (offset, result) -> {
                        if (verifiers.size() < 2) {
                            verifiers.add(result.verifier());
                        }
                        return result.count();
                    });
            // One verifier of all WRITEs and of COMMIT: the server has not started again.
            if (size == 0 || Set.of(nfs.commit(file, name)).equals(verifiers)) {
                return;
            }
            progress.accept(-size); // the next attempt writes them again
        }
        throw new IOException(
                name + ": the server has lost data in a restart, " + ATTEMPTS + " times");
    }

    private <T> void copy(long size, int most, Start<T> start, End<T> end) throws IOException {
        int step = Math.max(1, Math.min(most, TRANSFER_MAX));
        ArrayDeque<Piece<T>> out = new ArrayDeque<>();
        long next = 0;
        try {
            while (next < size || !out.isEmpty()) {
                while (next < size && out.size() < CALLS_OUT) {
                    int length = (int) Math.min(step, size - next);
                    out.add(new Piece<>(next, length, start.call(next, length)));
                    next += length;
                }
                Piece<T> piece = out.remove();
                int count = end.count(piece.offset(), nfs.await(piece.call()));
                progress.accept(count);
                if (count < piece.length()) {
                    long rest = piece.offset() + count;
                    int left = piece.length() - count;
                    out.addFirst(new Piece<>(rest, left, start.call(rest, left)));
                }
            }
        } finally {
            abandon(out);
        }
    }

    private static ByteBuf readFully(FileChannel local, long offset, int length)
            throws IOException {
        ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer(length);
        try {
            while (data.readableBytes() < length) {
                int had = data.readableBytes();
                if (data.writeBytes(local, offset + had, length - had) < 0) {
                    throw new IOException("the local file became shorter");
                }
            }
            return data;
        } catch (IOException | RuntimeException e) {
            data.release();
            throw e;
        }
    }

    private static void writeFully(ByteBuf data, FileChannel local, long offset)
            throws IOException {
        long position = offset;
        while (data.isReadable()) {
            position += data.readBytes(local, position, data.readableBytes());
        }
    }

    private static void abandon(Iterable<? extends Piece<?>> pieces) {
        for (Piece<?> piece : pieces) {
            piece.call()
                    .addListener(
                            call -> {
                                if (call.getNow() instanceof Nfs3Client.ReadResult read) {
                                    read.data().release();
                                }
                            });
        }
    }
}
