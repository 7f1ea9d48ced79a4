// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Replies in Read chunks of the responder, their pull completions, and the credits of these (reliable reply draft, 4.1,
 * 5.2.3 and 5.4.3), on connections one after the other. The responder has granted {@link #CREDITS} throughout.
 *
 * <p>There are as many XIDs, and each is used again as soon as its call was answered.
 */
public final class PullCompletionSpecification
        implements Specification<
                PullCompletionSpecification.State, PullCompletionSpecification.Action> {

    public static final int CREDITS = 2;

    /** A rule, which can be left out to show that an invariant needs it. */
    public enum Rule {
        /** 5.4.3: the buffer of a reply waits for its completion. */
        A_REPLY_WAITS_FOR_ITS_COMPLETION,
        /** 5.4.3: the completion with its XID ends that. */
        A_COMPLETION_ENDS_THE_WAIT,
        /** 5.4.3: so does the connection. */
        A_CONNECTION_ENDS_THE_WAIT,
        /** 4.1.2: a completion is sent after the Reads. */
        A_COMPLETION_AFTER_THE_READS,
        /** 4.1.3: one is sent for a call that was given up. */
        A_COMPLETION_FOR_A_CALL_GIVEN_UP,
        /** 4.1.3: one for which no Read chunk waits is dropped. */
        A_COMPLETION_FOR_NOTHING_IS_DROPPED,
        /** 5.2.3: a completion consumes a credit. */
        A_COMPLETION_TAKES_A_CREDIT,
        /** 5.2.3: only the answer to a later call tells that it is available again. */
        AN_ANSWER_GIVES_CREDITS_BACK,
        /** 5.2.3: so one call may be sent where completions have all credits. */
        ONE_CALL_BESIDE_THE_COMPLETIONS,
        /** 5.2.3: the responder has a receive for it. */
        A_RECEIVE_BEYOND_THE_GRANT
    }

    /** What is never so. */
    public enum Invariant {
        /** 5.4.3. */
        A_REPLY_IS_GONE_BEFORE_IT_WAS_READ,
        /** 4.1.2: nobody tells the responder that it may invalidate. */
        A_REPLY_IS_KEPT_FOR_EVER,
        /** 3: messages beyond the receives of the responder. */
        A_MESSAGE_FINDS_NO_RECEIVE,
        /** 5.2.3: nothing is under way, and no call may be sent. */
        NO_CALL_MAY_BE_SENT,
        /** 5.2.3. */
        CREDITS_ARE_LOST,
        /** 4.1.3. */
        A_COMPLETION_COSTS_THE_CONNECTION
    }

    /** What may happen to a call, or to the connection. */
    public enum Kind {
        CALL,
        CANCEL,
        /** The oldest message arrives at the responder. */
        ARRIVE,
        /** The responder answers inline. */
        REPLY,
        /** The responder answers with a Read chunk. */
        OFFER,
        DELIVER,
        /** The Reads have ended. */
        PULLED,
        /** The requester sends a completion for nothing. */
        REPEAT,
        RECONNECT
    }

    /** One step, of the call with that index. */
    public record Action(Kind kind, int call) {}

    /** What the requester knows of a call. */
    public enum Phase {
        IDLE,
        OUT,
        GIVEN_UP,
        PULLING
    }

    /** What the responder has sent, and has not arrived. */
    public enum Answer {
        NONE,
        INLINE,
        READ_CHUNK
    }

    /**
     * A call.
     *
     * @param phase at the requester
     * @param completionsBefore completions whose arrival its answer proves
     * @param isExecuting at the responder
     * @param answer on its way
     * @param isWaiting whether the responder exposes its reply
     */
    public record Call(
            Phase phase,
            int completionsBefore,
            boolean isExecuting,
            Answer answer,
            boolean isWaiting) {

        private Call with(Phase newPhase, boolean executes, Answer newAnswer, boolean waits) {
            return new Call(newPhase, completionsBefore, executes, newAnswer, waits);
        }
    }

    /** A call or a completion on its way to the responder. */
    public record Message(boolean isCompletion, int call) {}

    /**
     * Both ends and what is between them.
     *
     * @param calls by their XIDs
     * @param sent to the responder, in order
     * @param completions sent, of which the requester does not know that they have arrived
     * @param isBroken whether the responder has ended the connection
     */
    public record State(List<Call> calls, List<Message> sent, int completions, boolean isBroken) {

        /** {@return how many calls are unanswered, as the requester knows it} */
        public int unanswered() {
            return count(Phase.OUT) + count(Phase.GIVEN_UP);
        }

        /** {@return how many calls the responder has} */
        public int executing() {
            return (int) calls.stream().filter(Call::isExecuting).count();
        }

        private int count(Phase phase) {
            return (int) calls.stream().filter(call -> call.phase == phase).count();
        }
    }

    private static final Call IDLE = new Call(Phase.IDLE, 0, false, Answer.NONE, false);
    private static final State INITIAL =
            new State(Collections.nCopies(CREDITS, IDLE), List.of(), 0, false);

    private final boolean repeats;
    private final Rule leftOut;

    /**
     * All rules.
     *
     * @param repeats whether the requester sends completions for nothing
     */
    public PullCompletionSpecification(boolean repeats) {
        this(repeats, null);
    }

    /** All rules but one. */
    public PullCompletionSpecification(boolean repeats, Rule leftOut) {
        this.repeats = repeats;
        this.leftOut = leftOut;
    }

    private boolean holds(Rule rule) {
        return rule != leftOut;
    }

    @Override
    public State initial() {
        return INITIAL;
    }

    /** {@return how many messages the requester may send now} */
    public int allowed(State s) {
        int completions =
                holds(Rule.A_COMPLETION_TAKES_A_CREDIT)
                        ? s.count(Phase.PULLING) + s.completions
                        : 0;
        int left = CREDITS - s.unanswered() - completions;
        boolean isAlone = s.unanswered() == 0 && s.count(Phase.PULLING) == 0 && s.completions > 0;
        return left <= 0 && isAlone && holds(Rule.ONE_CALL_BESIDE_THE_COMPLETIONS)
                ? 1
                : Math.max(0, left);
    }

    @Override
    public List<Action> actions(State s) {
        List<Action> actions = new ArrayList<>();
        for (int i = 0; i < CREDITS; i++) {
            for (Kind kind : Kind.values()) {
                if (isPossible(kind, i, s)) {
                    actions.add(new Action(kind, i));
                }
            }
        }
        if (!s.sent.isEmpty()) {
            actions.add(new Action(Kind.ARRIVE, s.sent.get(0).call));
        }
        actions.add(new Action(Kind.RECONNECT, 0));
        return actions;
    }

    private boolean isPossible(Kind kind, int index, State s) {
        Call call = s.calls.get(index);
        return switch (kind) {
            case CALL -> call.phase == Phase.IDLE && allowed(s) > 0;
            case CANCEL -> call.phase == Phase.OUT;
            case REPLY, OFFER -> call.isExecuting;
            case DELIVER -> call.answer != Answer.NONE;
            case PULLED -> call.phase == Phase.PULLING;
            case REPEAT ->
                    repeats
                            && call.equals(IDLE)
                            && s.completions == 0
                            && s.sent.isEmpty()
                            && allowed(s) > 0;
            case ARRIVE, RECONNECT -> false;
        };
    }

    @Override
    public State after(State s, Action action) {
        List<Call> calls = new ArrayList<>(s.calls);
        List<Message> sent = new ArrayList<>(s.sent);
        int index = action.call;
        Call call = calls.get(index);
        int completions = s.completions;
        boolean isBroken = s.isBroken;
        switch (action.kind) {
            case CALL -> {
                calls.set(
                        index,
                        new Call(Phase.OUT, completions, false, Answer.NONE, call.isWaiting));
                sent.add(new Message(false, index));
            }
            case CANCEL ->
                    calls.set(
                            index,
                            call.with(
                                    Phase.GIVEN_UP, call.isExecuting, call.answer, call.isWaiting));
            case ARRIVE -> {
                boolean isCompletion = sent.remove(0).isCompletion;
                isBroken =
                        isCompletion
                                && !call.isWaiting
                                && !holds(Rule.A_COMPLETION_FOR_NOTHING_IS_DROPPED);
                boolean waits =
                        call.isWaiting && !(isCompletion && holds(Rule.A_COMPLETION_ENDS_THE_WAIT));
                calls.set(
                        index,
                        call.with(
                                call.phase, call.isExecuting || !isCompletion, call.answer, waits));
            }
            case REPLY ->
                    calls.set(index, call.with(call.phase, false, Answer.INLINE, call.isWaiting));
            case OFFER ->
                    calls.set(
                            index,
                            call.with(
                                    call.phase,
                                    false,
                                    Answer.READ_CHUNK,
                                    holds(Rule.A_REPLY_WAITS_FOR_ITS_COMPLETION)));
            case DELIVER -> {
                boolean isPulled = call.answer == Answer.READ_CHUNK;
                boolean isKnown = call.phase == Phase.OUT;
                calls.set(
                        index,
                        call.with(
                                isPulled && isKnown ? Phase.PULLING : Phase.IDLE,
                                false,
                                Answer.NONE,
                                call.isWaiting));
                completions -= answered(calls, call.completionsBefore);
                if (isPulled && !isKnown && holds(Rule.A_COMPLETION_FOR_A_CALL_GIVEN_UP)) {
                    sent.add(new Message(true, index));
                    completions++;
                }
            }
            case PULLED -> {
                calls.set(index, call.with(Phase.IDLE, false, Answer.NONE, call.isWaiting));
                if (holds(Rule.A_COMPLETION_AFTER_THE_READS)) {
                    sent.add(new Message(true, index));
                    completions++;
                }
            }
            case REPEAT -> {
                sent.add(new Message(true, index));
                completions++;
            }
            case RECONNECT -> {
                return holds(Rule.A_CONNECTION_ENDS_THE_WAIT)
                        ? INITIAL
                        : new State(
                                s.calls.stream()
                                        .map(
                                                c ->
                                                        IDLE.with(
                                                                Phase.IDLE,
                                                                false,
                                                                Answer.NONE,
                                                                c.isWaiting))
                                        .toList(),
                                List.of(),
                                0,
                                false);
            }
        }
        return new State(List.copyOf(calls), List.copyOf(sent), completions, isBroken);
    }

    /** Messages arrive in order, so an answer proves the arrival of all completions that were sent before its call. */
    private int answered(List<Call> calls, int completionsBefore) {
        if (!holds(Rule.AN_ANSWER_GIVES_CREDITS_BACK)) {
            return 0;
        }
        for (int i = 0; i < CREDITS; i++) {
            Call call = calls.get(i);
            boolean isOut = call.phase == Phase.OUT || call.phase == Phase.GIVEN_UP;
            int left = isOut ? Math.max(0, call.completionsBefore - completionsBefore) : 0;
            calls.set(i, new Call(call.phase, left, call.isExecuting, call.answer, call.isWaiting));
        }
        return completionsBefore;
    }

    @Override
    public List<Invariant> violations(State s) {
        List<Invariant> violations = new ArrayList<>();
        for (int i = 0; i < CREDITS; i++) {
            Call call = s.calls.get(i);
            if (call.phase == Phase.PULLING && !call.isWaiting) {
                violations.add(Invariant.A_REPLY_IS_GONE_BEFORE_IT_WAS_READ);
            }
            if (call.isWaiting
                    && call.phase == Phase.IDLE
                    && !s.sent.contains(new Message(true, i))) {
                violations.add(Invariant.A_REPLY_IS_KEPT_FOR_EVER);
            }
        }
        int beyond = holds(Rule.A_RECEIVE_BEYOND_THE_GRANT) ? 1 : 0;
        if (s.sent.size() > CREDITS - s.executing() + beyond) {
            violations.add(Invariant.A_MESSAGE_FINDS_NO_RECEIVE);
        }
        boolean isQuiet =
                s.calls.stream().allMatch(call -> call.phase == Phase.IDLE) && s.sent.isEmpty();
        if (isQuiet && allowed(s) == 0) {
            violations.add(Invariant.NO_CALL_MAY_BE_SENT);
        }
        if (s.completions > CREDITS) {
            violations.add(Invariant.CREDITS_ARE_LOST);
        }
        if (s.isBroken) {
            violations.add(Invariant.A_COMPLETION_COSTS_THE_CONNECTION);
        }
        return violations;
    }

    /** {@return the same where the Reads take no time} */
    public Specification<State, Action> prompt() {
        return new PromptSpecification<>(this, action -> action.kind == Kind.PULLED);
    }
}
