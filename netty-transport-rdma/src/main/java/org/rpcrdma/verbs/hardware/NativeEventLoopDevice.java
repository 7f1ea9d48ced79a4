// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import org.rpcrdma.verbs.DeviceCapabilities;

/**
 * Native device resources of one event loop: a protection domain, a completion queue, connection events and a wait that
 * others can end. Called by the thread of the loop alone, but for {@link #wakeup()}.
 *
 * <p>Failed calls throw an {@link IOException} that {@link NativeErrorMessages#reason} can parse. Destroying an
 * object a second time, or after {@link #close()}, has no effect.
 */
public interface NativeEventLoopDevice {

    /** Capabilities of device and library. */
    DeviceCapabilities capabilities();

    /** How many completions the completion queue can hold. */
    int completions();

    /** Whether the peer of an RDMA Read needs the right of remote writing in its sink, as on iWARP. */
    boolean needsRemoteSinks();

    /** The device, for a message: {@code the RDMA device of 10.0.0.1}. */
    @Override
    String toString();

    /** The address of the byte at the position of a direct buffer. */
    long address(ByteBuffer memory);

    /**
     * Registers a buffer, all of its capacity.
     *
     * @param access {@link VerbsConstants#LOCAL_WRITE} and the like
     */
    NativeRegion register(ByteBuffer memory, int access) throws IOException;

    /** Registers memory that the caller keeps in place. */
    NativeRegion register(long address, int length, int access) throws IOException;

    /** Creates an unbound memory window. Only if {@link DeviceCapabilities#remoteInvalidation()} says so. */
    default NativeWindow newWindow() throws IOException {
        throw new UnsupportedOperationException("the library has no memory windows");
    }

    /** The flags of an {@code ibv_wc}, each of which means that the peer has invalidated a key. */
    default int invalidationFlags() {
        return VerbsConstants.WC_WITH_INVALIDATE;
    }

    /**
     * Whether a work request of this end may invalidate a memory window while a message of the peer may do so, too.
     * Otherwise only the end of the window is safe.
     */
    default boolean invalidatesWindows() {
        return true;
    }

    /** A new identifier, for a connection of the active side or for listening. */
    NativeCmId newId() throws IOException;

    /**
     * Where to bind for a connection.
     *
     * @param local where the user wants to, or {@code null}
     * @throws SocketException in one sentence, when the library cannot speak with the peer
     */
    InetSocketAddress connectFrom(InetSocketAddress local, InetSocketAddress peer)
            throws SocketException;

    /**
     * Where to listen.
     *
     * @throws SocketException in one sentence, when the library cannot
     */
    InetSocketAddress listenAt(InetSocketAddress local) throws SocketException;

    /** Polls up to that many completions, as {@code ibv_wc} from a byte index of the memory. */
    int poll(NativeMemory completions, int index, int most) throws IOException;

    /** Delivers up to that many events to the targets of identifiers; returns their number. */
    int deliverEvents(int most);

    /** Has the next completion end the wait. One that is there already does not: look again after this call. */
    void arm() throws IOException;

    /**
     * Waits for a completion, if armed, for an event or for {@link #wakeup()}.
     *
     * @param nanos the longest time; {@link Long#MAX_VALUE} is without a limit
     */
    void sleep(long nanos) throws IOException;

    /** Ends the current, or else the next, wait. Callable from any thread. */
    void wakeup();

    /**
     * Releases all resources. Queue pairs, identifiers and regions must be destroyed before. Late events of identifiers
     * are still delivered to their closed targets.
     */
    void close();
}
