// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.ArrayList;
import java.util.List;

/**
 * Credits of one requester and one responder (RFC 8166, 3.3), on connections one after the other: calls wait, are sent,
 * arrive and are answered with a grant, and the connection is lost at any time.
 *
 * <p>Bounded by {@link #MOST_CALLS} and {@link #MOST_CREDITS}.
 */
public final class CreditSpecification
        implements Specification<CreditSpecification.State, CreditSpecification.Action> {

    /** The most calls that wait or are unanswered at a time. */
    public static final int MOST_CALLS = 4;

    /** The highest grant. */
    public static final int MOST_CREDITS = 3;

    /** A rule that is left out, to show that the invariants need it. */
    public enum LeftOut {
        NOTHING,
        /** 3.3.3: one credit on a new connection, whatever was known from an earlier one. */
        ONE_CREDIT_ON_A_NEW_CONNECTION,
        /** 3.3.1: receives back a grant before it is sent. */
        RECEIVES_BEFORE_THE_GRANT,
        /** 3.3.1: a reply gives its credit back. */
        A_REPLY_FREES_A_CREDIT
    }

    /** What may happen. */
    public enum Kind {
        CALL,
        SEND,
        ARRIVE,
        REPLY,
        DELIVER,
        RECONNECT
    }

    /**
     * One step.
     *
     * @param kind what happens
     * @param grant of a reply; 0 for anything else
     */
    public record Action(Kind kind, int grant) {
        @Override
        public String toString() {
            return grant == 0 ? kind.toString() : kind + "(" + grant + ")";
        }
    }

    /**
     * Both ends and what is between them.
     *
     * @param grant as the requester knows it
     * @param waiting calls without a credit
     * @param unanswered calls that were sent, as the requester knows it
     * @param sent calls on their way
     * @param executing calls at the responder
     * @param replies on their way, by their grants
     * @param receives posted at the responder
     * @param isFresh whether no reply has come on this connection
     */
    public record State(
            int grant,
            int waiting,
            int unanswered,
            int sent,
            int executing,
            List<Integer> replies,
            int receives,
            boolean isFresh) {}

    private final LeftOut leftOut;

    /** All rules. */
    public CreditSpecification() {
        this(LeftOut.NOTHING);
    }

    /** All rules but one. */
    public CreditSpecification(LeftOut leftOut) {
        this.leftOut = leftOut;
    }

    @Override
    public State initial() {
        return new State(1, 0, 0, 0, 0, List.of(), 1, true);
    }

    @Override
    public List<Action> actions(State s) {
        List<Action> actions = new ArrayList<>();
        if (s.waiting + s.unanswered < MOST_CALLS) {
            actions.add(new Action(Kind.CALL, 0));
        }
        if (s.waiting > 0 && s.unanswered < s.grant) {
            actions.add(new Action(Kind.SEND, 0));
        }
        if (s.sent > 0) {
            actions.add(new Action(Kind.ARRIVE, 0));
        }
        if (s.executing > 0) {
            for (int grant = 1; grant <= MOST_CREDITS; grant++) {
                actions.add(new Action(Kind.REPLY, grant));
            }
        }
        if (!s.replies.isEmpty()) {
            actions.add(new Action(Kind.DELIVER, 0));
        }
        actions.add(new Action(Kind.RECONNECT, 0));
        return actions;
    }

    @Override
    public State after(State s, Action action) {
        return switch (action.kind) {
            case CALL -> with(s, s.grant, s.waiting + 1, s.unanswered, s.sent, s.executing);
            case SEND -> with(s, s.grant, s.waiting - 1, s.unanswered + 1, s.sent + 1, s.executing);
            case ARRIVE ->
                    new State(
                            s.grant,
                            s.waiting,
                            s.unanswered,
                            s.sent - 1,
                            s.executing + 1,
                            s.replies,
                            s.receives - 1,
                            s.isFresh);
            case REPLY -> reply(s, action.grant);
            case DELIVER -> deliver(s);
            case RECONNECT ->
                    new State(
                            leftOut == LeftOut.ONE_CREDIT_ON_A_NEW_CONNECTION ? s.grant : 1,
                            0,
                            0,
                            0,
                            0,
                            List.of(),
                            1,
                            true);
        };
    }

    private static State with(
            State s, int grant, int waiting, int unanswered, int sent, int executing) {
        return new State(
                grant, waiting, unanswered, sent, executing, s.replies, s.receives, s.isFresh);
    }

    /** Posted receives stay when the grant falls: calls may be on their way under an earlier one. */
    private State reply(State s, int grant) {
        int executing = s.executing - 1;
        int backed = Math.max(s.receives, grant - executing);
        List<Integer> replies = new ArrayList<>(s.replies);
        replies.add(grant);
        return new State(
                s.grant,
                s.waiting,
                s.unanswered,
                s.sent,
                executing,
                List.copyOf(replies),
                leftOut == LeftOut.RECEIVES_BEFORE_THE_GRANT ? s.receives : backed,
                s.isFresh);
    }

    private State deliver(State s) {
        int freed = leftOut == LeftOut.A_REPLY_FREES_A_CREDIT ? 0 : 1;
        return new State(
                s.replies.get(0),
                s.waiting,
                s.unanswered - freed,
                s.sent,
                s.executing,
                s.replies.subList(1, s.replies.size()),
                s.receives,
                false);
    }

    @Override
    public String violation(State s) {
        if (s.sent > s.receives) {
            return "a call finds no receive (3.3.1)";
        }
        if (s.isFresh && s.unanswered > 1) {
            return "a second call before the first grant (3.3.3)";
        }
        if (s.unanswered > MOST_CREDITS) {
            return "more calls than were ever granted (3.3.1)";
        }
        boolean isQuiet = s.sent == 0 && s.executing == 0 && s.replies.isEmpty();
        return isQuiet && s.waiting > 0 && s.unanswered >= s.grant
                ? "a call waits, and nothing is there that would give it a credit (3.3.1)"
                : null;
    }

    /**
     * {@return the same where the network and the requester take no time: what was sent has arrived, a reply is
     * delivered, and a call that has a credit is sent}
     */
    public Specification<State, Action> prompt() {
        return new PromptSpecification<>(
                this,
                action ->
                        switch (action.kind) {
                            case SEND, ARRIVE, DELIVER -> true;
                            case CALL, REPLY, RECONNECT -> false;
                        });
    }
}
