// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.ArrayList;
import java.util.List;

/**
 * Which version a requester that speaks versions 1 and 2 speaks with a responder, and how long a Send may be (RFC 8166,
 * 4.5.1; version two draft, 5; RFC 8797, 4.2 and 5.1), on connections one after the other.
 *
 * <p>Calls and replies are as long as a Send may be. The first message of a negotiation is one of the requester's own.
 */
public final class VersionSpecification
        implements Specification<VersionSpecification.State, VersionSpecification.Action> {

    /** The most calls that wait or are unanswered at a time. */
    private static final int MOST_CALLS = 2;

    /** A rule, which can be left out to show that an invariant needs it. */
    public enum Rule {
        /** Draft, 5: one message until a reply that is no error tells the credits. */
        ONE_MESSAGE_BEFORE_THE_CREDITS,
        /** Draft, 5: an error tells none. */
        AN_ERROR_TELLS_NO_CREDITS,
        /** Draft, 5: the first message fits the threshold of version 1. */
        THE_FIRST_MESSAGE_IS_SHORT,
        /** Draft, 5.1: so does its answer. */
        THE_FIRST_ANSWER_IS_SHORT,
        /** Draft, 5.2: with version 1 its threshold comes back. */
        A_VERSION_HAS_ITS_THRESHOLD,
        /** Draft, 5.2: the version is one of the range of the error. */
        THE_VERSION_IS_IN_THE_RANGE,
        /** RFC 8166, 4.5.1: without a common version the calls and the connection end. */
        NO_COMMON_VERSION_ENDS_CALLS,
        /** Draft, 5.2: a responder without version 2 is asked once. */
        A_FAILED_NEGOTIATION_IS_REMEMBERED,
        /** Draft, 5.3: a reply has the version of its call. */
        A_REPLY_HAS_THE_VERSION_OF_ITS_CALL,
        /** RFC 8166, 4.5.1: a call of an unsupported version is answered. */
        AN_UNSUPPORTED_VERSION_IS_ANSWERED,
        /** RFC 8797, 5.1: a peer that announces nothing has a size of 1024. */
        NOTHING_ANNOUNCED_IS_THE_DEFAULT,
        /** RFC 8797, 4.2: the smaller one of what is sent and what is received. */
        THE_SMALLER_SIZE_COUNTS
    }

    /** What is never so. */
    public enum Invariant {
        /** Draft, 5. */
        A_SECOND_MESSAGE_BEFORE_THE_CREDITS,
        /** RFC 8797, 4.2; draft, 5. */
        A_MESSAGE_IS_TOO_LONG,
        /** Draft, 5.2: a call has a version outside of a range that is known. */
        A_CALL_OF_AN_UNSUPPORTED_VERSION,
        /** Draft, 5.3. */
        A_REPLY_OF_ANOTHER_VERSION,
        /** Draft, 5.2: what has failed is tried again. */
        A_NEGOTIATION_LOOP,
        /** RFC 8166, 4.5.1: a call is not answered, and nothing is under way. */
        A_CALL_WAITS_FOR_EVER
    }

    /**
     * A responder: its versions, and whether it has announced to receive and to send more than the default. Each has
     * receives as long as its highest version asks for.
     */
    public enum Responder {
        ONE(1, 1, false, false),
        ONE_LONG(1, 1, true, true),
        ONE_SENDS_LONG(1, 1, false, true),
        BOTH(1, 2, false, false),
        NEITHER(3, 4, false, false);

        public final int lowest;
        public final int highest;
        public final boolean receivesLong;
        public final boolean sendsLong;

        Responder(int lowest, int highest, boolean receivesLong, boolean sendsLong) {
            this.lowest = lowest;
            this.highest = highest;
            this.receivesLong = receivesLong;
            this.sendsLong = sendsLong;
        }

        boolean speaks(int version) {
            return lowest <= version && version <= highest;
        }
    }

    /** What may happen. */
    public enum Kind {
        /** There is a responder, of which nothing is known. */
        MEET,
        CALL,
        /** The requester has to take version 1. */
        ASSUME,
        /** The requester sends the first message of a negotiation. */
        PROBE,
        SEND,
        ANSWER,
        DELIVER,
        RECONNECT,
        /** What was remembered is too old. */
        FORGET
    }

    /**
     * One step.
     *
     * @param kind what happens
     * @param responder that is met; {@code null} for anything else
     */
    public record Action(Kind kind, Responder responder) {
        @Override
        public String toString() {
            return responder == null ? kind.toString() : kind + "(" + responder + ")";
        }
    }

    /**
     * A message in flight.
     *
     * @param isProbe the first message of a negotiation, or its answer
     * @param isError ERR_VERS
     * @param version of its header
     * @param asked the version of the call that it answers
     * @param isLong whether it is longer than the default of version 1
     */
    public record Message(
            boolean isProbe, boolean isError, int version, int asked, boolean isLong) {}

    /**
     * Both ends and what is between them.
     *
     * @param responder {@code null} before there is one
     * @param isRemembered whether the requester takes it to speak version 1 alone
     * @param hasFailed whether a negotiation with it has failed
     * @param isLooping whether it was tried again
     * @param version that was settled on this connection, or 0
     * @param isRangeKnown whether the responder has said which versions it speaks
     * @param waiting calls that were not sent
     * @param unanswered messages that were sent, as the requester knows it
     * @param sent on their way
     * @param answers on their way
     * @param hasCredits whether the requester takes itself to have credits for all
     * @param isReplied whether a reply that was no error has come
     * @param isAgreed whether the responder has answered in version 2
     */
    public record State(
            Responder responder,
            boolean isRemembered,
            boolean hasFailed,
            boolean isLooping,
            int version,
            boolean isRangeKnown,
            int waiting,
            int unanswered,
            List<Message> sent,
            List<Message> answers,
            boolean hasCredits,
            boolean isReplied,
            boolean isAgreed) {}

    private static final State NOBODY = new Draft().state();

    private final List<Responder> responders;
    private final Rule leftOut;

    /** All rules. */
    public VersionSpecification(List<Responder> responders) {
        this(responders, null);
    }

    /** All rules but one. */
    public VersionSpecification(List<Responder> responders, Rule leftOut) {
        this.responders = responders;
        this.leftOut = leftOut;
    }

    private boolean holds(Rule rule) {
        return rule != leftOut;
    }

    @Override
    public State initial() {
        return NOBODY;
    }

    @Override
    public List<Action> actions(State s) {
        List<Action> actions = new ArrayList<>();
        if (s.responder == null) {
            responders.forEach(responder -> actions.add(new Action(Kind.MEET, responder)));
            return actions;
        }
        int calls = s.waiting + s.unanswered;
        if (calls < MOST_CALLS) {
            actions.add(new Action(Kind.CALL, null));
        }
        int allowed = s.hasCredits || !holds(Rule.ONE_MESSAGE_BEFORE_THE_CREDITS) ? MOST_CALLS : 1;
        if (s.waiting > 0 && s.version == 0 && s.unanswered == 0) {
            actions.add(new Action(s.isRemembered ? Kind.ASSUME : Kind.PROBE, null));
        }
        if (s.waiting > 0 && s.version != 0 && s.unanswered < allowed) {
            actions.add(new Action(Kind.SEND, null));
        }
        if (!s.sent.isEmpty()) {
            actions.add(new Action(Kind.ANSWER, null));
        }
        if (!s.answers.isEmpty()) {
            actions.add(new Action(Kind.DELIVER, null));
        }
        actions.add(new Action(calls == 0 && s.version == 0 ? Kind.FORGET : Kind.RECONNECT, null));
        return actions;
    }

    @Override
    public State after(State s, Action action) {
        Draft d = new Draft(s);
        switch (action.kind) {
            case MEET -> d.responder = action.responder;
            case CALL -> d.waiting++;
            case ASSUME -> d.version = 1;
            case PROBE -> {
                d.isLooping = s.hasFailed;
                d.unanswered++;
                boolean isLong = !holds(Rule.THE_FIRST_MESSAGE_IS_SHORT);
                d.sent.add(new Message(true, false, 2, 2, isLong));
            }
            case SEND -> {
                d.waiting--;
                d.unanswered++;
                d.sent.add(new Message(false, false, s.version, s.version, isLongCall(s)));
            }
            case ANSWER -> answer(d);
            case DELIVER -> deliver(d);
            case RECONNECT -> reconnect(d);
            case FORGET -> {
                return NOBODY;
            }
        }
        return d.state();
    }

    private boolean isLongCall(State s) {
        if (s.version == 2) {
            return true;
        }
        Responder r = s.responder;
        return r.receivesLong
                || (r.sendsLong && !holds(Rule.THE_SMALLER_SIZE_COUNTS))
                || (!r.sendsLong && !holds(Rule.NOTHING_ANNOUNCED_IS_THE_DEFAULT))
                || (s.isRangeKnown && !holds(Rule.A_VERSION_HAS_ITS_THRESHOLD));
    }

    private void answer(Draft d) {
        Message call = d.sent.remove(0);
        Responder r = d.responder;
        if (!r.speaks(call.version)) {
            if (holds(Rule.AN_UNSUPPORTED_VERSION_IS_ANSWERED)) {
                d.answers.add(new Message(call.isProbe, true, call.version, call.version, false));
            }
            return;
        }
        boolean isTwo = call.version == 2;
        boolean isLong = isTwo ? d.isAgreed || !holds(Rule.THE_FIRST_ANSWER_IS_SHORT) : r.sendsLong;
        int version = holds(Rule.A_REPLY_HAS_THE_VERSION_OF_ITS_CALL) ? call.version : r.highest;
        d.answers.add(new Message(call.isProbe, false, version, call.version, isLong));
        d.isAgreed |= isTwo;
    }

    private void deliver(Draft d) {
        Message answer = d.answers.remove(0);
        d.unanswered--;
        if (!answer.isError) {
            d.hasCredits = true;
            d.isReplied = true;
            d.version = answer.isProbe ? 2 : d.version;
            return;
        }
        d.hasCredits |= !holds(Rule.AN_ERROR_TELLS_NO_CREDITS);
        d.hasFailed = true;
        d.isRemembered = holds(Rule.A_FAILED_NEGOTIATION_IS_REMEMBERED);
        d.isRangeKnown = true;
        if (d.responder.speaks(1)) {
            d.version = holds(Rule.THE_VERSION_IS_IN_THE_RANGE) ? 1 : 2;
        } else if (holds(Rule.NO_COMMON_VERSION_ENDS_CALLS)) {
            d.waiting = answer.isProbe ? 0 : d.waiting;
            reconnect(d); // the calls that were not refused are sent on another connection
        }
    }

    private void reconnect(Draft d) {
        boolean wasProbing = d.version == 0 && d.unanswered > 0;
        d.hasFailed |= wasProbing;
        d.isRemembered |= wasProbing && holds(Rule.A_FAILED_NEGOTIATION_IS_REMEMBERED);
        d.waiting += d.unanswered - (wasProbing ? 1 : 0);
        d.version = 0;
        d.isRangeKnown = false;
        d.unanswered = 0;
        d.sent.clear();
        d.answers.clear();
        d.hasCredits = false;
        d.isReplied = false;
        d.isAgreed = false;
    }

    @Override
    public List<Invariant> violations(State s) {
        List<Invariant> violations = new ArrayList<>();
        if (s.unanswered > 1 && !s.isReplied) {
            violations.add(Invariant.A_SECOND_MESSAGE_BEFORE_THE_CREDITS);
        }
        for (Message call : s.sent) {
            if (call.isLong && !s.responder.receivesLong && s.responder.highest != 2) {
                violations.add(Invariant.A_MESSAGE_IS_TOO_LONG);
            }
            if (s.isRangeKnown && !call.isProbe && !s.responder.speaks(call.version)) {
                violations.add(Invariant.A_CALL_OF_AN_UNSUPPORTED_VERSION);
            }
        }
        for (Message answer : s.answers) {
            if (answer.isProbe && answer.isLong) {
                violations.add(Invariant.A_MESSAGE_IS_TOO_LONG);
            }
            if (!answer.isError && answer.version != answer.asked) {
                violations.add(Invariant.A_REPLY_OF_ANOTHER_VERSION);
            }
        }
        if (s.isLooping) {
            violations.add(Invariant.A_NEGOTIATION_LOOP);
        }
        if (s.unanswered > s.sent.size() + s.answers.size()) {
            violations.add(Invariant.A_CALL_WAITS_FOR_EVER);
        }
        return violations;
    }

    /** {@return the same where the requester sends at once what it may} */
    public Specification<State, Action> prompt() {
        return new PromptSpecification<>(
                this,
                action ->
                        switch (action.kind) {
                            case ASSUME, PROBE, SEND -> true;
                            default -> false;
                        });
    }

    /** A state that is being made. */
    private static final class Draft {
        private Responder responder;
        private boolean isRemembered;
        private boolean hasFailed;
        private boolean isLooping;
        private int version;
        private boolean isRangeKnown;
        private int waiting;
        private int unanswered;
        private final List<Message> sent = new ArrayList<>();
        private final List<Message> answers = new ArrayList<>();
        private boolean hasCredits;
        private boolean isReplied;
        private boolean isAgreed;

        Draft() {}

        Draft(State s) {
            responder = s.responder;
            isRemembered = s.isRemembered;
            hasFailed = s.hasFailed;
            isLooping = s.isLooping;
            version = s.version;
            isRangeKnown = s.isRangeKnown;
            waiting = s.waiting;
            unanswered = s.unanswered;
            sent.addAll(s.sent);
            answers.addAll(s.answers);
            hasCredits = s.hasCredits;
            isReplied = s.isReplied;
            isAgreed = s.isAgreed;
        }

        State state() {
            return new State(
                    responder,
                    isRemembered,
                    hasFailed,
                    isLooping,
                    version,
                    isRangeKnown,
                    waiting,
                    unanswered,
                    List.copyOf(sent),
                    List.copyOf(answers),
                    hasCredits,
                    isReplied,
                    isAgreed);
        }
    }
}
