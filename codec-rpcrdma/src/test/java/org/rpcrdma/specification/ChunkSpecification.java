// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Whose the memory of chunks is (RFC 8166, 4.4.1): the application's, until a call offers it; the responder's, until it
 * is invalidated or the connection is lost; and then the application's again. Some calls on one connection after
 * another, each with one chunk.
 */
public final class ChunkSpecification
        implements Specification<List<ChunkSpecification.Call>, ChunkSpecification.Action> {

    /** A rule, which can be left out to show that an invariant needs it. */
    public enum Rule {
        /** 4.4.1: the memory of a reply is invalidated before the reply is delivered. */
        INVALIDATION_BEFORE_DELIVERY,
        /** 4.4.1: the memory of a call that was given up stays the responder's until it is invalidated. */
        INVALIDATION_BEFORE_REUSE,
        /** 4.4.1: the application has its memory again with the reply. */
        THE_MEMORY_COMES_WITH_THE_REPLY,
        /** 4.4.1: what was written before the reply is what is delivered. */
        WRITES_COME_BEFORE_THE_REPLY,
        /** 8.1.2: a responder has access by one connection alone. */
        ACCESS_ENDS_WITH_THE_CONNECTION
    }

    /** What is never so. */
    public enum Invariant {
        /** 4.4.1. */
        THE_RESPONDER_HAS_ACCESS_TO_THE_APPLICATIONS_MEMORY,
        /** The call is over, and nobody gives the memory back. */
        MEMORY_IS_LOST,
        /** 4.4.1: what the responder has written is not there when the reply is delivered. */
        A_RESULT_IS_MISSING
    }

    /** Where a call is. */
    public enum Phase {
        IDLE,
        OUT,
        /** Given up by the application; the responder knows nothing of it. */
        CANCELLED,
        /** The reply is here, and not delivered. */
        ANSWERED
    }

    /** What may happen to a call, or to the connection. */
    public enum Kind {
        CALL,
        WRITE,
        REPLY,
        /** The application gives up, and waits for its memory. */
        CANCEL,
        /** The application gives up, and has its memory invalidated for that. */
        FENCE,
        INVALIDATE,
        DELIVER,
        /** The responder accesses memory that is not its own any more, which costs the connection. */
        TRESPASS,
        RECONNECT
    }

    /** One step, of the call with that index. */
    public record Action(Kind kind, int call) {}

    /**
     * A call and its memory.
     *
     * @param phase where it is; idle when it was delivered
     * @param isExposed whether the responder has access
     * @param isApplications whether the application may read, change and free the memory
     * @param isWritten whether the responder has written the result
     * @param isThere whether the application finds it
     */
    public record Call(
            Phase phase,
            boolean isExposed,
            boolean isApplications,
            boolean isWritten,
            boolean isThere) {}

    private static final Call IDLE = new Call(Phase.IDLE, false, true, false, false);

    private final int calls;
    private final Rule leftOut;

    /** So many calls at a time, and all rules. */
    public ChunkSpecification(int calls) {
        this(calls, null);
    }

    /** All rules but one. */
    public ChunkSpecification(int calls, Rule leftOut) {
        this.calls = calls;
        this.leftOut = leftOut;
    }

    private boolean holds(Rule rule) {
        return rule != leftOut;
    }

    @Override
    public List<Call> initial() {
        return Collections.nCopies(calls, IDLE);
    }

    @Override
    public List<Action> actions(List<Call> state) {
        List<Action> actions = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            Call call = state.get(i);
            for (Kind kind : Kind.values()) {
                if (isPossible(kind, call)) {
                    actions.add(new Action(kind, i));
                }
            }
        }
        actions.add(new Action(Kind.RECONNECT, 0));
        return actions;
    }

    private boolean isPossible(Kind kind, Call call) {
        boolean isAtResponder = call.phase == Phase.OUT || call.phase == Phase.CANCELLED;
        return switch (kind) {
            case CALL -> call.phase == Phase.IDLE;
            case WRITE -> isAtResponder && call.isExposed && !call.isWritten;
            case REPLY -> isAtResponder;
            case CANCEL, FENCE -> call.phase == Phase.OUT;
            case INVALIDATE -> call.phase == Phase.ANSWERED && call.isExposed;
            case DELIVER ->
                    call.phase == Phase.ANSWERED
                            && (!call.isExposed || !holds(Rule.INVALIDATION_BEFORE_DELIVERY));
            case TRESPASS -> call.phase == Phase.CANCELLED && !call.isExposed;
            case RECONNECT -> false;
        };
    }

    @Override
    public List<Call> after(List<Call> state, Action action) {
        if (action.kind == Kind.RECONNECT || action.kind == Kind.TRESPASS) {
            return holds(Rule.ACCESS_ENDS_WITH_THE_CONNECTION)
                    ? initial()
                    : state.stream().map(ChunkSpecification::stillExposed).toList();
        }
        List<Call> after = new ArrayList<>(state);
        after.set(action.call, after(state.get(action.call), action.kind));
        return List.copyOf(after);
    }

    private static Call stillExposed(Call call) {
        return new Call(Phase.IDLE, call.isExposed, true, false, false);
    }

    private Call after(Call call, Kind kind) {
        return switch (kind) {
            case CALL -> new Call(Phase.OUT, true, false, false, false);
            case WRITE ->
                    new Call(
                            call.phase,
                            call.isExposed,
                            call.isApplications,
                            true,
                            holds(Rule.WRITES_COME_BEFORE_THE_REPLY));
            case REPLY -> in(Phase.ANSWERED, call, call.isExposed, call.isApplications);
            case CANCEL -> in(Phase.CANCELLED, call, true, !holds(Rule.INVALIDATION_BEFORE_REUSE));
            case FENCE -> in(Phase.CANCELLED, call, false, true);
            case INVALIDATE -> in(call.phase, call, false, call.isApplications);
            case DELIVER ->
                    in(
                            Phase.IDLE,
                            call,
                            call.isExposed,
                            call.isApplications || holds(Rule.THE_MEMORY_COMES_WITH_THE_REPLY));
            case TRESPASS, RECONNECT -> call;
        };
    }

    private static Call in(Phase phase, Call call, boolean isExposed, boolean isApplications) {
        return new Call(phase, isExposed, isApplications, call.isWritten, call.isThere);
    }

    @Override
    public List<Invariant> violations(List<Call> state) {
        List<Invariant> violations = new ArrayList<>();
        for (Call call : state) {
            if (call.isExposed && call.isApplications) {
                violations.add(Invariant.THE_RESPONDER_HAS_ACCESS_TO_THE_APPLICATIONS_MEMORY);
            }
            if (call.phase == Phase.IDLE && !call.isApplications) {
                violations.add(Invariant.MEMORY_IS_LOST);
            }
            if (call.phase == Phase.IDLE && call.isWritten && !call.isThere) {
                violations.add(Invariant.A_RESULT_IS_MISSING);
            }
        }
        return violations;
    }

    /** {@return the same where the requester invalidates and delivers at once what has come} */
    public Specification<List<Call>, Action> prompt() {
        return new PromptSpecification<>(
                this, action -> action.kind == Kind.INVALIDATE || action.kind == Kind.DELIVER);
    }
}
