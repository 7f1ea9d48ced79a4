// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/**
 * What perftest's two ends tell each other beside the test, by Sends on a connection of its own: each message of the
 * client is answered by one of the same length. All numbers are big-endian.
 */
final class PerftestControl {

    /**
     * Where the peer may read or write.
     *
     * @param key an STag
     * @param address a tagged offset
     */
    record Place(int key, long address) {
        static final Place NONE = new Place(0, 0);
    }

    /** The end of the connection, to be opened with the first receive posted. */
    @FunctionalInterface
    interface Opener<X extends Exception> {
        PolledEnd open(Consumer<PolledEnd> prepare) throws X;
    }

    // A hand-shake: LID, outstanding Reads, QP number, PSN, key, padding, address, GID, SRQ number,
    // GID index.
    private static final int HAND_SHAKE = 56;
    private static final int KEY = 16;
    private static final int ADDRESS = 24;

    // Older versions than 5.70 are refused.
    private static final String VERSION = "6.06";
    private static final int VERSION_LENGTH = 16;

    private static final int CACHE_LINE = 64;
    private static final String MTU = "3";
    private static final int REPORT_NUMBERS = 5;

    private final boolean client;
    private final PolledMemory memory;
    private final PolledEnd end;

    <X extends Exception> PerftestControl(
            EventLoopVerbsContext context, boolean client, Opener<X> opener) throws X {
        this.client = client;
        memory = new PolledMemory(context, 2 * HAND_SHAKE);
        end = opener.open(this::receive);
    }

    private void receive(PolledEnd opened) {
        opened.postReceive(memory, 0, HAND_SHAKE);
    }

    /** The first exchanges: what the two ends are. */
    void introduce(int cycleBuffer) {
        exchange(ByteBuffer.allocate(VERSION_LENGTH).put(0, ascii(VERSION)));
        exchange(ByteBuffer.allocate(4).putInt(0, cycleBuffer));
        exchange(ByteBuffer.allocate(4).putInt(0, CACHE_LINE));
        exchange(ByteBuffer.allocate(2).put(0, ascii(MTU)));
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** Tells the peer where it may read or write, and learns the same. */
    Place handShake(Place mine) {
        ByteBuffer theirs =
                exchange(
                        ByteBuffer.allocate(HAND_SHAKE)
                                .putInt(KEY, mine.key())
                                .putLong(ADDRESS, mine.address()));
        return new Place(theirs.getInt(KEY), theirs.getLong(ADDRESS));
    }

    /** The numbers of the report: size and repetitions, then three of speed as floating point. */
    void report(int size, int repetitions) {
        long[] numbers = new long[REPORT_NUMBERS];
        numbers[0] = size;
        numbers[1] = repetitions;
        for (long number : numbers) {
            exchange(ByteBuffer.allocate(8).putLong(0, number));
        }
    }

    private ByteBuffer exchange(ByteBuffer mine) {
        if (client) {
            send(mine);
        }
        int length = end.take();
        Report.same("length of the message", mine.capacity(), length);
        ByteBuffer theirs = ByteBuffer.allocate(length).put(0, memory.bytes(), 0, length);
        receive(end);
        if (!client) {
            send(mine);
        }
        return theirs;
    }

    private void send(ByteBuffer mine) {
        memory.bytes().put(HAND_SHAKE, mine, 0, mine.capacity());
        int before = end.completed();
        end.send(memory, HAND_SHAKE, mine.capacity());
        end.await("completion", () -> end.completed() > before);
    }

    /**
     * The tool ends the connection, in either role, once its last Send is complete. If this end were to do it, then
     * soft-iWARP could flush that Send: its bytes have come, and their completion is still on its way.
     */
    void awaitEnd() {
        end.awaitDisconnected();
    }
}
