// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;
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

    private final Nfs3Client nfs;
    private final Nfs3Client.Limits limits;
    private final LongConsumer progress;

    /** By the attempt at hand. */
    private long written;

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
        int step = Math.max(1, Math.min(limits.read(), TRANSFER_MAX));
        ArrayDeque<Piece<Nfs3Client.ReadResult>> out = new ArrayDeque<>();
        long next = 0;
        try {
            while (next < size || !out.isEmpty()) {
                while (next < size && out.size() < CALLS_OUT) {
                    int length = (int) Math.min(step, size - next);
                    out.add(read(file, name, next, length));
                    next += length;
                }
                Piece<Nfs3Client.ReadResult> piece = out.remove();
                Nfs3Client.ReadResult result = nfs.await(piece.call());
                int count = result.data().readableBytes();
                try {
                    writeFully(result.data(), local, piece.offset());
                } finally {
                    result.data().release();
                }
                progress.accept(count);
                if (result.endOfFile() && piece.offset() + count < size) {
                    throw new IOException(name + ": the file became shorter while it was read");
                } else if (count == 0) {
                    throw new IOException(name + ": the server reads nothing at " + piece.offset());
                } else if (count < piece.length()) {
                    out.addFirst(read(file, name, piece.offset() + count, piece.length() - count));
                }
            }
        } finally {
            abandon(out);
        }
    }

    private Piece<Nfs3Client.ReadResult> read(
            NfsHandle file, String name, long offset, int length) {
        return new Piece<>(offset, length, nfs.read(file, name, offset, length));
    }

    /** Writes a local file into a remote one, from the start, and commits it. */
    public void put(FileChannel local, NfsHandle file, String name) throws IOException {
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            written = 0;
            long verifier = writeAll(local, file, name);
            if (local.size() == 0 || nfs.commit(file, name) == verifier) {
                return;
            }
            progress.accept(-written); // the next attempt writes them again
        }
        throw new IOException(
                name + ": the server has lost data in a restart, " + ATTEMPTS + " times");
    }

    /** @return the verifier of all writes, or one that no server has if they differ */
    private long writeAll(FileChannel local, NfsHandle file, String name) throws IOException {
        int step = Math.max(1, Math.min(limits.write(), TRANSFER_MAX));
        ArrayDeque<Piece<Nfs3Client.WriteResult>> out = new ArrayDeque<>();
        long size = local.size();
        long next = 0;
        Long verifier = null;
        boolean same = true;
        try {
            while (next < size || !out.isEmpty()) {
                while (next < size && out.size() < CALLS_OUT) {
                    int length = (int) Math.min(step, size - next);
                    out.add(write(local, file, name, next, length));
                    next += length;
                }
                Piece<Nfs3Client.WriteResult> piece = out.remove();
                Nfs3Client.WriteResult result = nfs.await(piece.call());
                same &= verifier == null || verifier == result.verifier();
                verifier = result.verifier();
                written += result.count();
                progress.accept(result.count());
                if (result.count() < piece.length()) {
                    out.addFirst(
                            write(
                                    local,
                                    file,
                                    name,
                                    piece.offset() + result.count(),
                                    piece.length() - result.count()));
                }
            }
        } finally {
            abandon(out);
        }
        return verifier == null || same ? (verifier == null ? 0 : verifier) : ~verifier;
    }

    private Piece<Nfs3Client.WriteResult> write(
            FileChannel local, NfsHandle file, String name, long offset, int length)
            throws IOException {
        ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer(length);
        try {
            while (data.readableBytes() < length) {
                if (data.writeBytes(
                                local, offset + data.readableBytes(), length - data.readableBytes())
                        < 0) {
                    throw new IOException("the local file became shorter");
                }
            }
        } catch (IOException | RuntimeException e) {
            data.release();
            throw e;
        }
        return new Piece<>(offset, length, nfs.write(file, name, offset, data));
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
