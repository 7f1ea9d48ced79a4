// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The one wait of an event loop, for four file descriptors: completions, connection events, device events, wake-ups.
 */
final class FileDescriptorWaiter {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(FileDescriptorWaiter.class);

    private static final int COMPLETIONS = 0;
    private static final int EVENTS = 1;
    private static final int DEVICE = 2;
    private static final int WAKEUP = 3;
    private static final int COUNT = 4;
    private static final String[] NAMES = {
        "Completions", "Events of connections", "Events of the device"
    };

    private static final int EFD_NONBLOCK = StructLayouts.O_NONBLOCK;
    private static final int EFD_CLOEXEC = 0x80000;
    private static final long NANOS_PER_SECOND = 1_000_000_000;

    private enum State {
        AWAKE,
        /** Sleeps, or is about to. */
        ASLEEP,
        RUNG,
        CLOSED
    }

    private final AtomicReference<State> state = new AtomicReference<>(State.AWAKE);
    private final NativeFunctions library;
    private final Arena arena = Arena.ofShared();
    private final long fds =
            arena.allocate((long) COUNT * StructLayouts.POLL_SIZE, Long.BYTES).address();
    private final long timeout = arena.allocate(2L * Long.BYTES, Long.BYTES).address();
    private final long read = arena.allocate(Long.BYTES, Long.BYTES).address();
    private final int eventFd;

    /** Wake-ups that are written, or will be, and are not read yet. */
    private long unread;

    private boolean hasCompletions;
    private boolean hasEvents = true;

    FileDescriptorWaiter(NativeFunctions library, int completionsFd, int eventsFd, int deviceFd)
            throws IOException {
        this.library = library;
        eventFd = library.eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        try {
            Errno.check(library, "eventfd", eventFd);
            int[] all = {completionsFd, eventsFd, deviceFd, eventFd};
            for (int i = 0; i < COUNT; i++) {
                if (i != WAKEUP) {
                    makeNonBlocking(all[i]);
                }
                CMemory.putInt(fds + (long) i * StructLayouts.POLL_SIZE, all[i]);
                CMemory.putShort(
                        fds + (long) i * StructLayouts.POLL_SIZE + StructLayouts.POLL_EVENTS,
                        StructLayouts.POLLIN);
            }
        } catch (IOException e) {
            if (eventFd >= 0) {
                library.close(eventFd);
            }
            arena.close();
            throw e;
        }
    }

    private void makeNonBlocking(int fd) throws IOException {
        int flags = library.fcntl(fd, StructLayouts.F_GETFL, 0);
        Errno.check(library, "fcntl", flags);
        Errno.check(
                library,
                "fcntl",
                library.fcntl(fd, StructLayouts.F_SETFL, flags | StructLayouts.O_NONBLOCK));
    }

    /** What ended the last wait: a completion. */
    boolean hasCompletions() {
        return hasCompletions;
    }

    /** Events of connections or of the device are there, as far as is known. */
    boolean hasEvents() {
        return hasEvents;
    }

    /** All were taken that were there. */
    void eventsTaken() {
        hasEvents = false;
    }

    /**
     * Ends the current, or else the next, {@link #sleep}. Callable from any thread; not a system call unless it sleeps.
     */
    void wakeup() {
        while (true) {
            State before = state.get();
            if (before == State.RUNG || before == State.CLOSED) {
                return;
            }
            if (state.compareAndSet(before, State.RUNG)) {
                if (before == State.ASLEEP) {
                    library.eventfdWrite(eventFd, 1);
                }
                return;
            }
        }
    }

    /**
     * @param nanos the longest time; {@link Long#MAX_VALUE} is without a limit
     */
    void sleep(long nanos) throws IOException {
        hasCompletions = false;
        if (state.compareAndSet(State.AWAKE, State.ASLEEP)) {
            int ready = poll(fds, COUNT, nanos);
            int number = ready == -1 ? library.errno() : 0;
            if (state.getAndSet(State.AWAKE) == State.RUNG) {
                unread++;
            }
            if (ready == -1 && number != Errno.EINTR) {
                throw Errno.failed("ppoll", number);
            }
            if (ready > 0) {
                hasCompletions = isReady(COMPLETIONS);
                hasEvents |= isReady(EVENTS) || isReady(DEVICE);
                if (isReady(WAKEUP)) {
                    takeWakeups();
                }
            }
        } else {
            state.set(State.AWAKE);
        }
    }

    private int poll(long first, int count, long nanos) {
        CMemory.putLong(timeout, nanos / NANOS_PER_SECOND);
        CMemory.putLong(timeout + Long.BYTES, nanos % NANOS_PER_SECOND);
        return library.ppoll(first, count, nanos == Long.MAX_VALUE ? 0 : timeout);
    }

    private boolean isReady(int number) {
        long at = fds + (long) number * StructLayouts.POLL_SIZE;
        int returned = CMemory.getShort(at + StructLayouts.POLL_RETURNED);
        if (returned == 0) {
            return false;
        }
        if ((returned & StructLayouts.POLLIN) != 0 || number == WAKEUP) {
            return true;
        }
        // In error, and nothing is left to be read: for ever, as uverbs has it once the device is
        // gone. It would end each wait at once.
        CMemory.putInt(at, -1);
        logger.warn(
                "{} are waited for no longer: the device was removed, or has failed (poll: {})",
                NAMES[number],
                returned);
        return false;
    }

    private void takeWakeups() {
        if (library.eventfdRead(eventFd, read) != -1) {
            unread -= CMemory.getLong(read);
        }
    }

    /** Waits for the thread that is about to write, whose number might be another's otherwise. */
    void close() {
        state.set(State.CLOSED);
        while (unread > 0) {
            poll(fds + (long) WAKEUP * StructLayouts.POLL_SIZE, 1, Long.MAX_VALUE);
            takeWakeups();
        }
        library.close(eventFd);
        arena.close();
    }
}
