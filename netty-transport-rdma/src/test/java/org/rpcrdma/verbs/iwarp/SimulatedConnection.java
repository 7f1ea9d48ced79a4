// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.net.InetSocketAddress;

/** A TCP connection of a {@link SimulatedNetwork}, and the faults that it can have. */
public final class SimulatedConnection {

    private final int number;
    private final SimulatedPipe forward;
    private final SimulatedPipe backward;
    private SimulatedSocket connecting;
    private SimulatedSocket accepted;

    /**
     * @param number for the history
     * @param capacity of each direction: the bytes that are sent and not read
     */
    SimulatedConnection(int number, int capacity) {
        this.number = number;
        forward = new SimulatedPipe(this + " forward", capacity);
        backward = new SimulatedPipe(this + " backward", capacity);
        forward.opposite(backward);
        backward.opposite(forward);
    }

    /** The direction of the end that has connected. */
    SimulatedPipe forward() {
        return forward;
    }

    /** The direction of the end that has accepted. */
    SimulatedPipe backward() {
        return backward;
    }

    void begin(SimulatedSocket connectingEnd, SimulatedSocket acceptedEnd, long time) {
        connecting = connectingEnd;
        accepted = acceptedEnd;
        forward.begin(time);
        backward.begin(time);
    }

    /** {@return the port of the end that has connected} */
    public int port() {
        return ((InetSocketAddress) connecting.getLocalAddress()).getPort();
    }

    SimulatedSocket connecting() {
        return connecting;
    }

    SimulatedSocket accepted() {
        return accepted;
    }

    /** Whether one direction delivers nothing any more, which keep-alive may notice. */
    boolean isSilent() {
        return forward.isSilent() || backward.isSilent();
    }

    /** Whether neither direction will ever deliver anything again, and no end waits for it. */
    boolean isOver() {
        return (forward.isOver() && backward.isOver())
                || (isSilent()
                        && !connecting.isOpen()
                        && !accepted.isOpen()
                        && !forward.isInFlight()
                        && !backward.isInFlight());
    }

    /** Whether both directions were reset. */
    boolean isReset() {
        return forward.isReset() && backward.isReset();
    }

    /** Resets both directions: bytes in flight are lost, and both ends see the reset. */
    public void reset() {
        forward.reset();
        backward.reset();
    }

    /** Delivers nothing any more in one direction, and tells nobody: a half-open connection. */
    public void silence(boolean isForward) {
        pipe(isForward).silence();
    }

    /** Resets both directions when so many more bytes have arrived in one of them: in the middle of whatever it is. */
    public void cutAfter(boolean isForward, long bytes) {
        pipe(isForward).cutAfter(bytes);
    }

    /** Delivers a wrong bit in one direction, behind the start-up. */
    public void damage(boolean isForward) {
        pipe(isForward).damage();
    }

    /** Delivers nothing in one direction before a time of {@link SimulatedNetwork#nanoTime}. */
    public void stall(boolean isForward, long until) {
        pipe(isForward).stall(until);
    }

    private SimulatedPipe pipe(boolean isForward) {
        return isForward ? forward : backward;
    }

    @Override
    public String toString() {
        return "connection " + number;
    }
}
