// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.function.LongSupplier;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.internal.UserCode;

/**
 * Decides each grant of one connection, and keeps the receives behind it (RFC 8166, 3.3.1): posted before a higher
 * grant is sent, and left alone when it falls.
 */
final class CreditGrantController implements ResponderLoad {

    private final ConnectionContext link;

    /** {@code null} at a side that sends no replies in Read chunks. */
    private final ExposedReadChunkReplies waiting;

    private final LongSupplier pulledBytes;
    private final RdmaChannel channel;
    private final CreditPolicy policy;
    private final ResponderCredits credits;
    private final int minimum;

    /** Receives for the replies to own calls, which share the channel (RFC 8167, 4.3). */
    private int forReplies;

    /** With the constant policy all receives stay posted, and there is nothing to do. */
    private final boolean isConstant;

    CreditGrantController(
            ConnectionContext link,
            ResponderCredits credits,
            ExposedReadChunkReplies waiting,
            LongSupplier pulledBytes) {
        this.link = link;
        this.waiting = waiting;
        this.pulledBytes = pulledBytes;
        this.credits = credits;
        channel = link.channel();
        policy = link.config().creditPolicy();
        isConstant = link.config().hasConstantCredits() && waiting == null;
        minimum = Math.min(link.config().minimumCredits(), credits.maximum());
    }

    /**
     * Keeps so many receives more, for the replies to own calls.
     *
     * @return how many there are for them
     */
    int keepForReplies(int replies) {
        int calls = Math.max(credits.granted(), credits.outstanding()) + completions();
        forReplies = Math.min(replies, channel.keepReceives(calls + replies) - calls);
        return forReplies;
    }

    /** The grant for the message that is built now. */
    int next() {
        if (isConstant || !channel.isActive()) {
            return credits.grant(credits.maximum());
        }
        int wanted = Math.min(Math.max(wanted(), minimum), credits.maximum());
        // A requester that does not complete its pulls is left with one credit, and with no more
        // memory of ours (reliable reply draft, 4.1.3; RFC 5666, 11).
        wanted = Math.max(1, wanted - completions());
        int before = credits.granted();
        if (wanted > before) {
            int others = forReplies + completions();
            int kept = channel.keepReceives(Math.max(wanted, credits.outstanding()) + others);
            wanted = Math.max(before, Math.min(wanted, kept - others));
        }
        int granted = credits.grant(wanted);
        if (granted < before) {
            keepPromised();
        }
        return granted;
    }

    /** The grant stays as it is when the policy, which is code of the user, does not say. */
    private int wanted() {
        try {
            return policy.credits(this);
        } catch (Throwable t) {
            UserCode.failed("CreditPolicy.credits", t);
            return credits.granted();
        }
    }

    /** A call has used up a receive that was promised to it: it need not be replaced when the grant is lower now. */
    void received() {
        if (!isConstant && channel.isActive()) {
            keepPromised();
        }
    }

    private void keepPromised() {
        channel.keepReceives(promised() + completions());
    }

    /** For calls, and for the replies to own calls. */
    private int promised() {
        return Math.max(credits.granted(), credits.outstanding()) + forReplies;
    }

    /** Pull completions that may come: each has a receive outside of the grant (reliable reply draft, 5.2.3). */
    private int completions() {
        return waiting == null ? 0 : waiting.count();
    }

    /** Posts receives for so many pull completions besides those for calls; {@code false} when there are too few. */
    boolean reserveReceives(int completions) {
        int needed = promised() + completions;
        return channel.isActive() && channel.keepReceives(needed) >= needed;
    }

    @Override
    public int granted() {
        return credits.granted();
    }

    @Override
    public int minimumCredits() {
        return minimum;
    }

    @Override
    public int maximumCredits() {
        return credits.maximum();
    }

    @Override
    public int unansweredCalls() {
        return credits.unanswered();
    }

    @Override
    public boolean isReading() {
        return channel.config().isAutoRead();
    }

    @Override
    public long pulledBytes() {
        return pulledBytes.getAsLong();
    }

    @Override
    public long maximumPulledBytes() {
        return link.config().maxConnectionBytes();
    }

    @Override
    public long registeredBytesInUse() {
        return RdmaChannel.registeredBytes();
    }

    @Override
    public long maximumRegisteredBytes() {
        return RdmaChannel.registeredBytesLimit();
    }
}
