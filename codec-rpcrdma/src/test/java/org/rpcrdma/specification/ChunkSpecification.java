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

    /** A rule that is left out, to show that the invariant needs it. */
    public enum LeftOut {
        NOTHING,
        /** 4.4.1: the memory of a reply is invalidated before the reply is delivered. */
        INVALIDATION_BEFORE_DELIVERY,
        /** 4.4.1: the memory of a call that was given up stays the responder's until it is invalidated. */
        INVALIDATION_BEFORE_REUSE
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
     * @param phase where it is
     * @param isExposed whether the responder has access
     * @param isApplications whether the application may read, change and free the memory
     */
    public record Call(Phase phase, boolean isExposed, boolean isApplications) {}

    private static final Call IDLE = new Call(Phase.IDLE, false, true);

    private final int calls;
    private final LeftOut leftOut;

    /** So many calls at a time, and all rules. */
    public ChunkSpecification(int calls) {
        this(calls, LeftOut.NOTHING);
    }

    /** All rules but one. */
    public ChunkSpecification(int calls, LeftOut leftOut) {
        this.calls = calls;
        this.leftOut = leftOut;
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
            case WRITE -> isAtResponder && call.isExposed;
            case REPLY -> isAtResponder;
            case CANCEL, FENCE -> call.phase == Phase.OUT;
            case INVALIDATE -> call.phase == Phase.ANSWERED && call.isExposed;
            case DELIVER ->
                    call.phase == Phase.ANSWERED
                            && (!call.isExposed || leftOut == LeftOut.INVALIDATION_BEFORE_DELIVERY);
            case TRESPASS -> call.phase == Phase.CANCELLED && !call.isExposed;
            case RECONNECT -> false;
        };
    }

    @Override
    public List<Call> after(List<Call> state, Action action) {
        if (action.kind == Kind.RECONNECT || action.kind == Kind.TRESPASS) {
            return initial(); // all access ends with the connection
        }
        List<Call> after = new ArrayList<>(state);
        after.set(action.call, after(state.get(action.call), action.kind));
        return List.copyOf(after);
    }

    private Call after(Call call, Kind kind) {
        return switch (kind) {
            case CALL -> new Call(Phase.OUT, true, false);
            case REPLY -> new Call(Phase.ANSWERED, call.isExposed, call.isApplications);
            case CANCEL ->
                    new Call(Phase.CANCELLED, true, leftOut == LeftOut.INVALIDATION_BEFORE_REUSE);
            case FENCE -> new Call(Phase.CANCELLED, false, true);
            case INVALIDATE -> new Call(call.phase, false, call.isApplications);
            case DELIVER -> new Call(Phase.IDLE, call.isExposed, true);
            case WRITE, TRESPASS, RECONNECT -> call;
        };
    }

    @Override
    public String violation(List<Call> state) {
        for (Call call : state) {
            if (call.isExposed && call.isApplications) {
                return "the responder has access to the application's memory (4.4.1)";
            }
            if (call.phase == Phase.IDLE && !call.isApplications) {
                return "memory is lost";
            }
        }
        return null;
    }

    /** {@return the same where the requester invalidates and delivers at once what has come} */
    public Specification<List<Call>, Action> prompt() {
        return new PromptSpecification<>(
                this, action -> action.kind == Kind.INVALIDATE || action.kind == Kind.DELIVER);
    }
}
