// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.fault;

/** What crosses the verbs SPI: calls down, events up. */
public enum Step {
    CREATE(true),
    CONNECT(true),
    ACCEPT(true),
    REGISTER(true),
    POST_RECEIVE(true),
    SEND(true),
    WRITE(true),
    READ(true),
    GATHER(true),
    DOORBELL(true),
    EXPOSE(true),
    INVALIDATE(true),
    DEREGISTER(false),
    REQUESTED(false),
    CONNECTED(false),
    CONNECT_FAILED(false),
    RECEIVED(false),
    WORK_DONE(false),
    DISCONNECTED(false);

    private final boolean mayFail;

    Step(boolean mayFail) {
        this.mayFail = mayFail;
    }

    /** Whether it is a call that a device can refuse. */
    public boolean mayFail() {
        return mayFail;
    }

    /** Whether it is an event. */
    public boolean isEvent() {
        return switch (this) {
            case REQUESTED, CONNECTED, CONNECT_FAILED, RECEIVED, WORK_DONE, DISCONNECTED -> true;
            default -> false;
        };
    }
}
