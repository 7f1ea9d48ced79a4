// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * One end of a simulated connection, and its handler. Ends know each other.
 *
 * @param <E> the type of both ends
 */
abstract class SimulatedEnd<E extends SimulatedEnd<E>> extends ChannelInboundHandlerAdapter {

    final SimulatedNetwork network;
    private final Channel channel;
    private final String name;

    /** {@code null} before it is known. */
    E peer;

    /** The last exception that this handler was told of, or {@code null}. */
    Throwable told;

    /** What it has seen that must not be, or {@code null}. */
    String wrong;

    SimulatedEnd(Channel channel, String name, SimulatedNetwork network) {
        this.channel = channel;
        this.name = name;
        this.network = network;
    }

    /** Names both ends of a connection to each other. */
    static <E extends SimulatedEnd<E>> void pair(E one, E other) {
        one.peer = other;
        other.peer = one;
    }

    /** Stops and resumes reading. What arrives meanwhile is left to the buffers of the transport. */
    public void setReading(boolean isReading) {
        channel.config().setAutoRead(isReading);
    }

    /** Writes nothing more, and reads all that is left. */
    abstract void finish();

    /** Closes the channel. */
    abstract void close();

    /** {@return whether its channel is open} */
    public boolean isOpen() {
        return channel.isOpen();
    }

    /** Looks at the promises that have ended. */
    abstract void settle();

    /** {@return whether each promise has ended} */
    abstract boolean isSettled();

    /** {@return whether all that the peer has written has arrived} */
    abstract boolean hasAll();

    /** {@return whether the other end is known} */
    final boolean hasPeer() {
        return peer != null;
    }

    /** {@return whether it has no peer, or {@link #hasAll()}} */
    final boolean hasAllOfItsPeer() {
        return peer == null || hasAll();
    }

    /**
     * Checks what must hold at any time.
     *
     * @throws AssertionError when it has seen something wrong
     */
    public void check() {
        settle();
        if (wrong != null) {
            throw new AssertionError(this + " " + wrong);
        }
    }

    /**
     * Checks what must hold in the end when no connection was lost.
     *
     * @throws AssertionError when a promise has failed
     */
    abstract void checkPromises();

    /** {@return what it has done and seen, for a failure} */
    abstract String state();

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        told = cause;
        network.note(this + " is told of " + cause);
    }

    @Override
    public String toString() {
        return name;
    }
}
