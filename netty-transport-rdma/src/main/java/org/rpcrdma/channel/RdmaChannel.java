// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;
// SKELETON: the signatures are final, the bodies are being written.
import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;

/**
 * A connection over RDMA.
 *
 * <p>Message boundaries are kept: an inbound {@link ByteBuf} is one received Send, delivered in the registered receive
 * buffer itself; an outbound {@link ByteBuf} is one Send. {@link RdmaSend}, {@link RdmaWrite} and {@link RdmaRead} are
 * written like any message, are posted in order with the Sends and complete by their promise.
 */
public abstract class RdmaChannel extends AbstractChannel {

    protected RdmaChannel() { super(null); }

    /** What the peer sent as connection private data; empty when it sent none; {@code null} before the channel is active. */
    public abstract byte[] peerPrivateData();

    /**
     * A buffer of registered memory with reader and writer index 0: the channel sends and receives there without a copy.
     * Event loop only; may be released on any thread.
     *
     * @param capacity in bytes, and the maximum capacity of the buffer
     */
    public abstract ByteBuf registeredBuffer(int capacity);

    /**
     * Lets the peer of this channel, and nobody else, reach exactly the bytes {@code index .. index + length} of the
     * buffer. Event loop only. The caller keeps a reference to the buffer until the handle is invalidated or the
     * channel is closed ({@code channelInactive}).
     *
     * @param buffer direct and in one piece
     * @return the handle to advertise, an unsigned 32-bit number
     */
    public abstract int expose(ByteBuf buffer, int index, int length, RemoteAccess access);

    /** The offset that goes with a valid handle, an unsigned 64-bit number. Event loop only. */
    public abstract long exposedOffset(int handle);

    /** Whether neither side has invalidated the handle. Event loop only. */
    public abstract boolean isExposed(int handle);

    /**
     * Ends the peer's access before it returns. Does nothing for a handle that the peer has invalidated, or when the
     * channel is closed. Event loop only.
     */
    public abstract void invalidate(int handle);
}
