// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/**
 * Polling of one event loop in {@link PollMode#ADAPTIVE}: its window, within the limit of the process. Not thread-safe.
 */
final class AdaptivePolling {

    private final AdaptivePollWindow window;
    private PollingEventLoopLimit limit;
    private boolean isEntered;

    /** Whether the last wait ended by a poll, or is still polled. */
    private boolean isPolling;

    AdaptivePolling(AdaptivePollWindow window, PollingEventLoopLimit limit) {
        this.window = window;
        this.limit = limit;
    }

    /** {@return the polling of a loop that begins now; {@code null} when it has another mode} */
    static AdaptivePolling of(PollMode mode, long now) {
        return mode == PollMode.ADAPTIVE
                ? new AdaptivePolling(new AdaptivePollWindow(now), PollingEventLoopLimit.PROCESS)
                : null;
    }

    /** Sets another limit than that of the process, before the loop runs. */
    void limit(PollingEventLoopLimit other) {
        limit = other;
    }

    /**
     * See {@link AdaptivePollWindow#roundEnded}; a round with work ends a wait, see
     * {@link AdaptivePollWindow#workFound}.
     */
    void roundEnded(long began, long now, boolean hadWork) {
        window.roundEnded(began, now);
        if (hadWork) {
            workFound(began);
        }
    }

    /**
     * A poll has found no work. Returns whether the loop is to poll again at once; otherwise it blocks.
     *
     * @param since when there last was work
     */
    boolean tryPoll(long since, long now) {
        window.pollMissed(since, now);
        if (window.isOpen(now) && (isEntered || limit.tryEnter())) {
            isEntered = true;
            isPolling = true;
            return true;
        }
        isPolling = false;
        window.blocks(now);
        stop();
        return false;
    }

    /** Whether the loop did not block when it last had nothing to do. {@code false} before it had nothing to do. */
    boolean isPolling() {
        return isPolling;
    }

    /** See {@link AdaptivePollWindow#workFound}. */
    void workFound(long now) {
        window.workFound(now);
        stop();
    }

    /** The loop does not wait any more, or not by polling. */
    void stop() {
        if (isEntered) {
            isEntered = false;
            limit.leave();
        }
    }
}
