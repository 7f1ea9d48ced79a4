// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.function.LongSupplier;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.internal.UserExceptionLog;

/**
 * Decides each credit grant of one connection, and keeps as many receives posted (RFC 8166, 3.3.1): it posts them
 * before a higher grant is sent, and leaves them posted when the grant falls.
 */
final class CreditGrantAndReceiveController implements ResponderConnectionLoad {

    private final ConnectionSharedState link;

    /** {@code null} if this side sends no replies in Read chunks. */
    private final OutboundRepliesAwaitingPullCompletion waiting;

    /** Receives for calls that a requester may send beyond the grant. */
    private final int beyondGrant;

    /** Whether the requester counts pull completions within the grant, and sends a call beyond it. */
    private final boolean areCompletionsGranted;

    private final LongSupplier pulledBytes;
    private final RdmaChannel channel;
    private final ChannelInternals internals;
    private final CreditPolicy policy;
    private final ResponderCredits credits;
    private final int minimum;

    /** Receives for the replies to outbound calls, which share the channel (RFC 8167, 4.3). */
    private int forReplies;

    /** Whether the policy is constant: all receives stay posted, and nothing is decided per message. */
    private final boolean isConstant;

    /**
     * @param waiting replies that have a receive each for their pull completion; {@code null} for none
     * @param beyondGrant receives for calls that a requester may send beyond the grant, because it counts its pull
     *     completions within the grant; 0 where these are outside of it
     */
    CreditGrantAndReceiveController(
            ConnectionSharedState link,
            ResponderCredits credits,
            OutboundRepliesAwaitingPullCompletion waiting,
            int beyondGrant,
            LongSupplier pulledBytes) {
        this.link = link;
        this.waiting = waiting;
        this.beyondGrant = beyondGrant;
        areCompletionsGranted = beyondGrant > 0;
        this.pulledBytes = pulledBytes;
        this.credits = credits;
        channel = link.channel;
        internals = link.internals;
        policy = link.config().creditPolicy();
        isConstant =
                link.config().hasConstantCredits() && (waiting == null || areCompletionsGranted);
        minimum = Math.min(link.config().minimumCredits(), credits.maximum);
    }

    /**
     * Reserves more receives, for the replies to outbound calls.
     *
     * @return the receives reserved for replies
     */
    int keepForReplies(int replies) {
        int calls = Math.max(credits.granted(), arriving()) + outsideGrant();
        // Fewer than for calls are kept when the device refuses some.
        forReplies =
                Math.max(0, Math.min(replies, internals.keepReceives(calls + replies) - calls));
        return forReplies;
    }

    /** The grant for the message that is built now. */
    int next() {
        if (isConstant || !channel.isActive()) {
            return credits.grant(credits.maximum);
        }
        int wanted = Math.min(Math.max(wanted(), minimum), credits.maximum);
        // A requester that sends no pull completions keeps one credit, and holds no more memory of
        // this side (reliable
        // reply draft, 4.1.3; RFC 5666, 11).
        wanted = Math.max(1, wanted - completions());
        int before = credits.granted();
        if (wanted > before) {
            int others = forReplies + outsideGrant();
            int kept = internals.keepReceives(Math.max(wanted, arriving()) + others);
            wanted = Math.max(before, Math.min(wanted, kept - others));
        }
        int granted = credits.grant(wanted);
        if (granted < before) {
            keepPromised();
        }
        return granted;
    }

    /** Asks the policy. The grant stays the same when the policy, which is user code, throws. */
    private int wanted() {
        try {
            return policy.credits(this);
        } catch (Throwable t) {
            UserExceptionLog.failed("CreditPolicy.credits", t);
            return credits.granted();
        }
    }

    /** A call has consumed its receive, which is not replaced if the grant is lower now. */
    void received() {
        if (!isConstant && channel.isActive()) {
            keepPromised();
        }
    }

    private void keepPromised() {
        internals.keepReceives(needed());
    }

    /** The least number of receives, now. */
    int needed() {
        return promised() + outsideGrant();
    }

    /** Receives promised to inbound calls and to the replies to outbound calls. */
    private int promised() {
        return Math.max(credits.granted(), arriving()) + forReplies;
    }

    /**
     * Messages of the requester that may arrive by its credits, old grants included. With granted pull completions
     * these are the ones of replies that wait for them, and of all calls in progress, whose replies may be of that
     * kind; never more than the highest grant, since a credit is used once at a time.
     */
    private int arriving() {
        int calls = credits.outstanding();
        return areCompletionsGranted
                ? Math.min(calls + credits.unanswered() + waiting.count(), credits.maximum)
                : calls;
    }

    /** Pull completions that no grant speaks of: each has a receive of its own (reliable reply draft, 5.2.3). */
    private int completions() {
        return waiting == null || areCompletionsGranted ? 0 : waiting.count();
    }

    /** Receives that no grant speaks of. */
    private int outsideGrant() {
        return beyondGrant + completions();
    }

    /** Posts receives for pull completions besides those for calls; {@code false} when there are too few. */
    boolean tryReserveReceives(int completions) {
        int needed = promised() + beyondGrant + completions;
        return channel.isActive() && internals.keepReceives(needed) >= needed;
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
        return credits.maximum;
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
