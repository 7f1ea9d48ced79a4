// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.ArrayList;
import java.util.List;

/**
 * Credits of one requester and one responder (RFC 8166, 3.3), on connections one after the other: calls wait, are sent,
 * arrive and are answered with a grant, several at a time and in flight in either direction. The connection is lost at
 * any time, and the calls that were not answered are sent again on the next one (4.5.5).
 */
public final class CreditSpecification
        implements Specification<CreditSpecification.State, CreditSpecification.Action> {

    /** A rule, which can be left out to show that an invariant needs it. */
    public enum Rule {
        /** 3.3.3: one credit on a new connection, whatever was known from an earlier one. */
        ONE_CREDIT_ON_A_NEW_CONNECTION,
        /** 3.3.3: nothing is unanswered on a new connection. */
        NO_CALLS_ON_A_NEW_CONNECTION,
        /** 3.3.1: no more unanswered calls than were granted. */
        A_CALL_NEEDS_A_CREDIT,
        /** 3.3.1: the value that was received last counts. */
        A_GRANT_IS_ABSOLUTE,
        /** 3.3.1: a requester has a receive for each reply before it sends the call. */
        A_RECEIVE_BEFORE_THE_CALL,
        /** 3.3.1: a reply gives its credit back. */
        A_REPLY_FREES_A_CREDIT,
        /** 3.3.1: a grant is never 0. */
        A_GRANT_IS_NEVER_ZERO,
        /** 3.3.1: receives back a grant before it is sent. */
        RECEIVES_BEFORE_THE_GRANT,
        /** 3.3.1: calls may be on their way under an earlier grant when a lower one is sent. */
        RECEIVES_STAY_WHEN_THE_GRANT_FALLS
    }

    /** What is never so. */
    public enum Invariant {
        /** 3.3.1. */
        A_CALL_FINDS_NO_RECEIVE,
        /** 3.3.1. */
        A_REPLY_FINDS_NO_RECEIVE,
        /** 3.3.3. */
        A_SECOND_CALL_BEFORE_THE_FIRST_GRANT,
        /** 3.3.1. */
        MORE_CALLS_THAN_WERE_EVER_GRANTED,
        /** 3.3.1: a call waits, and nothing is under way that would give it a credit. */
        A_CALL_WAITS_FOR_EVER
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
            return kind == Kind.REPLY ? kind + "(" + grant + ")" : kind.toString();
        }
    }

    /**
     * Both ends and what is between them.
     *
     * @param grant as the requester knows it
     * @param highest the highest grant that the requester has received on this connection, or the one credit
     * @param waiting calls without a credit
     * @param unanswered calls that were sent, as the requester knows it
     * @param replyReceives posted at the requester
     * @param sent calls on their way
     * @param executing calls at the responder
     * @param replies on their way, by their grants
     * @param receives posted at the responder
     * @param isFresh whether no reply has come on this connection
     */
    public record State(
            int grant,
            int highest,
            int waiting,
            int unanswered,
            int replyReceives,
            int sent,
            int executing,
            List<Integer> replies,
            int receives,
            boolean isFresh) {}

    private final int mostCalls;
    private final int mostCredits;
    private final Rule leftOut;

    /** All rules, for so many calls that wait or are unanswered at a time, and grants up to so many credits. */
    public CreditSpecification(int mostCalls, int mostCredits) {
        this(mostCalls, mostCredits, null);
    }

    /** All rules but one. */
    public CreditSpecification(int mostCalls, int mostCredits, Rule leftOut) {
        this.mostCalls = mostCalls;
        this.mostCredits = mostCredits;
        this.leftOut = leftOut;
    }

    private boolean holds(Rule rule) {
        return rule != leftOut;
    }

    @Override
    public State initial() {
        return new State(1, 1, 0, 0, 0, 0, 0, List.of(), 1, true);
    }

    @Override
    public List<Action> actions(State s) {
        List<Action> actions = new ArrayList<>();
        if (s.waiting + s.unanswered < mostCalls) {
            actions.add(new Action(Kind.CALL, 0));
        }
        if (s.waiting > 0 && (s.unanswered < s.grant || !holds(Rule.A_CALL_NEEDS_A_CREDIT))) {
            actions.add(new Action(Kind.SEND, 0));
        }
        if (s.sent > 0) {
            actions.add(new Action(Kind.ARRIVE, 0));
        }
        if (s.executing > 0) {
            int lowest = holds(Rule.A_GRANT_IS_NEVER_ZERO) ? 1 : 0;
            for (int grant = lowest; grant <= mostCredits; grant++) {
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
            case CALL ->
                    new State(
                            s.grant,
                            s.highest,
                            s.waiting + 1,
                            s.unanswered,
                            s.replyReceives,
                            s.sent,
                            s.executing,
                            s.replies,
                            s.receives,
                            s.isFresh);
            case SEND ->
                    new State(
                            s.grant,
                            s.highest,
                            s.waiting - 1,
                            s.unanswered + 1,
                            s.replyReceives + (holds(Rule.A_RECEIVE_BEFORE_THE_CALL) ? 1 : 0),
                            s.sent + 1,
                            s.executing,
                            s.replies,
                            s.receives,
                            s.isFresh);
            case ARRIVE ->
                    new State(
                            s.grant,
                            s.highest,
                            s.waiting,
                            s.unanswered,
                            s.replyReceives,
                            s.sent - 1,
                            s.executing + 1,
                            s.replies,
                            s.receives - 1,
                            s.isFresh);
            case REPLY -> reply(s, action.grant);
            case DELIVER -> deliver(s);
            case RECONNECT -> reconnect(s);
        };
    }

    private State reply(State s, int grant) {
        int executing = s.executing - 1;
        int backed = holds(Rule.RECEIVES_BEFORE_THE_GRANT) ? grant - executing : s.receives;
        boolean isKept = holds(Rule.RECEIVES_STAY_WHEN_THE_GRANT_FALLS);
        List<Integer> replies = new ArrayList<>(s.replies);
        replies.add(grant);
        return new State(
                s.grant,
                s.highest,
                s.waiting,
                s.unanswered,
                s.replyReceives,
                s.sent,
                executing,
                List.copyOf(replies),
                isKept ? Math.max(s.receives, backed) : backed,
                s.isFresh);
    }

    private State deliver(State s) {
        int received = s.replies.get(0);
        int grant =
                holds(Rule.A_GRANT_IS_ABSOLUTE)
                        ? received
                        : Math.min(mostCalls, s.grant + received); // as if it were a difference
        return new State(
                grant,
                Math.max(s.highest, received),
                s.waiting,
                s.unanswered - (holds(Rule.A_REPLY_FREES_A_CREDIT) ? 1 : 0),
                s.replyReceives - 1,
                s.sent,
                s.executing,
                s.replies.subList(1, s.replies.size()),
                s.receives,
                false);
    }

    private State reconnect(State s) {
        return new State(
                holds(Rule.ONE_CREDIT_ON_A_NEW_CONNECTION) ? 1 : s.grant,
                1,
                s.waiting + s.unanswered,
                holds(Rule.NO_CALLS_ON_A_NEW_CONNECTION) ? 0 : s.unanswered,
                0,
                0,
                0,
                List.of(),
                1,
                true);
    }

    @Override
    public List<Invariant> violations(State s) {
        List<Invariant> violations = new ArrayList<>();
        if (s.sent > s.receives) {
            violations.add(Invariant.A_CALL_FINDS_NO_RECEIVE);
        }
        if (s.replies.size() > s.replyReceives) {
            violations.add(Invariant.A_REPLY_FINDS_NO_RECEIVE);
        }
        if (s.isFresh && s.unanswered > 1) {
            violations.add(Invariant.A_SECOND_CALL_BEFORE_THE_FIRST_GRANT);
        }
        if (s.unanswered > s.highest) {
            violations.add(Invariant.MORE_CALLS_THAN_WERE_EVER_GRANTED);
        }
        boolean isQuiet = s.sent == 0 && s.executing == 0 && s.replies.isEmpty();
        if (isQuiet && s.waiting > 0 && s.unanswered >= s.grant) {
            violations.add(Invariant.A_CALL_WAITS_FOR_EVER);
        }
        return violations;
    }

    /** {@return the same where a call that has a credit is sent at once} */
    public Specification<State, Action> prompt() {
        return new PromptSpecification<>(this, action -> action.kind == Kind.SEND);
    }
}
