// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.function.Consumer;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.fault.Step;
import org.rpcrdma.verbs.WorkStatus;

/** What goes wrong at a step of an exchange. */
enum Fault {
    /** The user closes the channel: in a listener or a handler when the step is an event, else in the next task. */
    CLOSE {
        @Override
        boolean hits(Step step) {
            return true;
        }

        @Override
        void strike(Step step, FaultPair.Connection connection, FaultPair.Role role) {
            if (step.isEvent()) {
                connection.channel(role).close();
            } else {
                connection.channel(role).eventLoop().execute(connection.channel(role)::close);
            }
        }
    },
    /** The connection breaks before the step: what is posted later is flushed. */
    BREAK {
        @Override
        boolean hits(Step step) {
            return true;
        }

        @Override
        void strike(Step step, FaultPair.Connection connection, FaultPair.Role role) {
            breakDown(connection, role);
        }
    },
    /** The connection breaks in the middle of a batch: what was opened before the step is carried out. */
    BREAK_IN_BATCH {
        @Override
        boolean hits(Step step) {
            return step == Step.SEND || step == Step.WRITE || step == Step.READ;
        }

        @Override
        void strike(Step step, FaultPair.Connection connection, FaultPair.Role role) {
            FaultQueuePair queuePair = connection.queuePair(role);
            queuePair.doorbellNow();
            queuePair.breakDown();
        }
    },
    /** The device refuses the call. */
    REFUSE {
        @Override
        boolean hits(Step step) {
            return step.mayFail();
        }

        @Override
        void strike(Step step, FaultPair.Connection connection, FaultPair.Role role) {
            throw new IllegalStateException("the device refuses " + step);
        }
    },
    /** A work request ends with an error, and everything after it is flushed. */
    FAIL {
        @Override
        boolean hits(Step step) {
            return step == Step.WORK_DONE || step == Step.RECEIVED;
        }

        @Override
        void strike(Step step, FaultPair.Connection connection, FaultPair.Role role) {
            breakDown(connection, role);
        }
    };

    abstract boolean hits(Step step);

    abstract void strike(Step step, FaultPair.Connection connection, FaultPair.Role role);

    private static void breakDown(FaultPair.Connection connection, FaultPair.Role role) {
        FaultQueuePair queuePair = connection.queuePair(role);
        if (queuePair != null) {
            queuePair.breakDown();
        }
    }

    /** This fault at the n-th step that it can hit, 0 the first. */
    Plan at(int number, FaultPair.Connection connection, FaultPair.Role role) {
        return new Plan(this, number, step -> strike(step, connection, role));
    }

    /** Counts the steps, and knows afterwards which one it has hit. */
    static final class Plan implements FaultPlan {
        private final Fault fault;
        private final int at;
        private final Consumer<Step> action;
        private int steps;
        private volatile Step reached;

        private Plan(Fault fault, int at, Consumer<Step> action) {
            this.fault = fault;
            this.at = at;
            this.action = action;
        }

        /** The step that was hit, or {@code null}. */
        Step reached() {
            return reached;
        }

        private void count(Step step) {
            if (fault.hits(step) && steps++ == at) {
                reached = step;
                action.accept(step);
            }
        }

        @Override
        public void before(Step step) {
            if (fault != FAIL) {
                count(step);
            }
        }

        @Override
        public void after(Step step) {
            if (fault != FAIL) {
                count(step);
            }
        }

        @Override
        public WorkStatus status(Step step) {
            if (fault != FAIL) {
                return WorkStatus.SUCCESS;
            }
            boolean isHitBefore = reached != null;
            count(step);
            if (reached == null) {
                return WorkStatus.SUCCESS;
            }
            return isHitBefore || step == Step.RECEIVED
                    ? WorkStatus.FLUSHED
                    : WorkStatus.REMOTE_ACCESS_ERROR;
        }
    }
}
