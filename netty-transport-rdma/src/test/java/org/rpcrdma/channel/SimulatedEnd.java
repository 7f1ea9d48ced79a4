// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelHandler;

/**
 * One end of a simulated connection, and its handler.
 *
 * @param <E> the type of the other end
 */
interface SimulatedEnd<E> extends ChannelHandler {

    /** Names both ends of a connection to each other. */
    void pair(E other);

    /** Writes nothing more, and reads all that is left. */
    void finish();

    /** Closes the channel. */
    void close();

    /** {@return whether its channel is open} */
    boolean isOpen();

    /** {@return whether each promise has ended} */
    boolean isSettled();

    /** {@return whether all that the peer has written has arrived} */
    boolean hasAll();

    /**
     * Checks what must hold at any time.
     *
     * @throws AssertionError when it has seen something wrong
     */
    void check();

    /**
     * Checks what must hold in the end when no connection was lost.
     *
     * @throws AssertionError when a promise has failed
     */
    void checkPromises();

    /** {@return what it has done and seen, for a failure} */
    String state();
}
