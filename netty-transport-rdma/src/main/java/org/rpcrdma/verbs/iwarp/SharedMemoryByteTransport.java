// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.rpcrdma.verbs.iwarp.mpa.FpduLayout;
import org.rpcrdma.verbs.iwarp.shared.LostMemoryException;
import org.rpcrdma.verbs.iwarp.shared.RingReader;
import org.rpcrdma.verbs.iwarp.shared.RingWriter;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFile;

/**
 * Memory that both ends have mapped, as the carrier: a ring for each direction. The TCP connection stays. Its bytes are
 * doorbells, of whatever value, for an end that sleeps; its end is that of the peer, behind what is in the ring.
 */
final class SharedMemoryByteTransport implements ByteTransport, SelectionKeyHandler {

    private static final int LONG_IDLE = 1 << 20;

    private final SharedMemoryPollSet awake;
    private final SocketChannel channel;
    private final SelectionKey key;
    private final SharedRingFile memory;
    private final RingReader in;
    private final RingWriter out;
    private ByteTransportEventHandler user;
    private boolean wantsBytes;
    private boolean wantsRoom;
    private boolean isAwake;
    private boolean closed;

    /** Whether nothing more goes out by TCP: its end is the peer's doorbell. */
    private boolean outputShut;

    /** Looks in a row that found nothing. */
    private int idle;

    /** Whether TCP has told that nothing more comes, and how if not in an orderly way. */
    private boolean ended;

    private IOException broken;

    /** Failure not yet reported: the shared memory is unusable. */
    private IOException lost;

    /** @param memory is closed with the carrier */
    SharedMemoryByteTransport(
            SharedMemoryPollSet awake,
            SocketChannel channel,
            SelectionKey key,
            SharedRingFile memory) {
        this.awake = awake;
        this.channel = channel;
        this.key = key;
        this.memory = memory;
        this.in = memory.reader();
        this.out = memory.writer();
        key.attach(this);
        key.interestOps(SelectionKey.OP_READ);
    }

    @Override
    public void carry(ByteTransportEventHandler next) {
        user = next;
    }

    @Override
    public void await(boolean bytes, boolean room) {
        boolean wantsMore = (bytes && !wantsBytes) || (room && !wantsRoom);
        if (wantsMore && !closed) {
            // Data that arrived meanwhile did not ring the doorbell. First, because it may lack
            // memory: what counts as awaited wakes nothing the next time.
            wakeToTell();
        }
        wantsBytes = bytes;
        wantsRoom = room;
    }

    /** Frames have no MTU to fit here. */
    @Override
    public int mulpdu(boolean markers) {
        return FpduLayout.MAX_ULPDU;
    }

    /** For a caller that is not to be told anything meanwhile: a failure waits for the next look. */
    private void wakeToTell() {
        try {
            wake();
        } catch (LostMemoryException e) {
            lost = e;
        }
    }

    private void wake() throws LostMemoryException {
        idle = 0;
        if (!isAwake) {
            // First: one that is awake and not in the set would never be looked at.
            awake.add(this);
            isAwake = true;
            in.sleeps(false);
            out.sleeps(false);
        }
    }

    /**
     * Has the peer ring from now on. Returns false when there is something to do at once, and so no sleep.
     */
    boolean trySleep() throws IOException {
        in.sleeps(wantsBytes);
        out.sleeps(wantsRoom);
        if (hasWork()) {
            in.sleeps(false);
            out.sleeps(false);
            idle = 0;
            return false;
        }
        isAwake = false;
        return true;
    }

    private boolean hasWork() throws IOException {
        return hasWantedBytes() || hasWantedRoom();
    }

    private boolean hasWantedBytes() throws IOException {
        if (lost != null) {
            throw lost;
        }
        return wantsBytes && (ended || in.hasBytes());
    }

    private boolean hasWantedRoom() throws LostMemoryException {
        return wantsRoom && out.hasRoom();
    }

    /**
     * Looks into the memory, which costs no system call. Returns how often it was looked in vain.
     *
     * @throws IOException when the memory is gone: {@link #failed} is to be called
     */
    int look() throws IOException {
        boolean bytes = hasWantedBytes();
        boolean room = hasWantedRoom();
        if (!bytes && !room) {
            idle = Math.min(idle + 1, LONG_IDLE);
            return idle;
        }
        idle = 0;
        if (room) {
            user.writable();
        }
        if (bytes && wantsBytes && !closed) {
            user.readAvailable();
        }
        return 0;
    }

    /** The doorbell, or the end of TCP. */
    @Override
    public void ready(int operations) throws IOException {
        if (closed) {
            // Another socket of the same round has ended this one.
            return;
        }
        try {
            if (channel.read(awake.bells()) < 0) {
                gone(null);
            }
        } catch (IOException e) {
            gone(e);
        }
        wake();
        look();
    }

    /** The peer sends no more; what is in the ring counts. */
    private void gone(IOException how) {
        if (!ended) {
            ended = true;
            broken = how;
            if (key.isValid()) {
                key.interestOps(0);
            }
        }
    }

    private void ring() {
        if (outputShut) {
            return;
        }
        try {
            // If TCP takes none, there are some that the peer has not read.
            channel.write(awake.bell());
        } catch (IOException e) {
            gone(e);
        }
    }

    /** Removed from polling before the listener is notified. */
    @Override
    public void failed(Exception cause) {
        try {
            close();
        } finally {
            user.failed(cause);
        }
    }

    private void checkOpen() throws IOException {
        if (lost != null) {
            throw lost;
        }
        if (closed) {
            throw new ClosedChannelException();
        }
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        checkOpen();
        try {
            return (int) read(in.read(target));
        } catch (LostMemoryException e) {
            throw lost(e);
        }
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        checkOpen();
        try {
            return read(in.read(targets, offset, length));
        } catch (LostMemoryException e) {
            throw lost(e);
        }
    }

    private long read(long bytes) throws IOException {
        if (bytes > 0) {
            if (in.owesBell()) {
                ring();
            }
        } else if (broken != null) {
            throw broken;
        } else if (ended && !in.hasBytes()) {
            return -1;
        }
        return bytes;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        checkOpen();
        try {
            return (int) written(out.write(source));
        } catch (LostMemoryException e) {
            throw lost(e);
        }
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        checkOpen();
        try {
            return written(out.write(sources, offset, length));
        } catch (LostMemoryException e) {
            throw lost(e);
        }
    }

    private long written(long bytes) {
        if (bytes > 0) {
            if (out.owesBell()) {
                ring();
            }
            // An answer is likely.
            wakeToTell();
        }
        return bytes;
    }

    /** Every read and write throws this exception from now on. */
    private IOException lost(LostMemoryException e) {
        lost = e;
        close();
        return e;
    }

    @Override
    public void shutdownOutput() throws IOException {
        outputShut = true;
        channel.shutdownOutput();
    }

    @Override
    public boolean isOpen() {
        return !closed;
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        awake.remove(this);
        try {
            endTcp();
        } catch (IOException e) {
            awake.trace(e);
        } finally {
            Sockets.close(channel);
            memory.close();
        }
    }

    private void endTcp() throws IOException {
        if (ended) {
            return;
        }
        if (lost != null || in.hasBytes()) {
            // As TCP does where something is unread: the peer learns that it was in vain.
            channel.setOption(StandardSocketOptions.SO_LINGER, 0);
        } else {
            // But a doorbell that is unread is nothing.
            channel.read(awake.bells());
        }
    }
}
