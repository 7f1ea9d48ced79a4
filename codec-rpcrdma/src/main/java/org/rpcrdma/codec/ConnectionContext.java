// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.net.SocketAddress;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaException;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.internal.ExposureListener;
import org.rpcrdma.codec.internal.FlightEvents;
import org.rpcrdma.codec.internal.UserCode;

/**
 * Per-connection context: channel, configuration, counters and negotiated versions. Depends on no other class of the
 * connection.
 */
final class ConnectionContext {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(ConnectionContext.class);

    private final RdmaChannel channel;
    private final RpcRdmaConfig config;
    private final ConnectionMetrics metrics;
    private final FlushConsolidation flushes;
    private final ProtocolViolationLog problems;
    private final PeerCache peers;
    private final boolean isServer;
    private volatile PrivateData peer = PrivateData.DEFAULT;

    /** {@code null} before active. */
    private volatile ProtocolVersions versions;

    private boolean takesInvalidate;
    private boolean bothTakeInvalidate;
    private ReadChunkReplyConfig readChunkReplies;

    /** {@code null} unless the connection is captured. */
    private ExposureListener exposures;

    private boolean isClosing;

    /** How the connection ends, as it is counted; {@code null} while it goes on, or when the peer ends it. */
    private RpcRdmaCounter end;

    ConnectionContext(RdmaChannel channel, RpcRdmaConfig config) {
        this.channel = channel;
        this.config = config;
        metrics = new ConnectionMetrics(config.metrics());
        flushes = new FlushConsolidation(channel);
        problems = new ProtocolViolationLog(channel);
        peers = PeerCache.of(channel);
        isServer = channel.parent() != null;
    }

    RdmaChannel channel() {
        return channel;
    }

    RpcRdmaConfig config() {
        return config;
    }

    ConnectionMetrics metrics() {
        return metrics;
    }

    /** Whether this is the accepting side. */
    boolean isServer() {
        return isServer;
    }

    void agreed(PrivateData own, PrivateData theirs) {
        peer = theirs;
        versions = new ProtocolVersions(own, theirs, config);
        takesInvalidate = own.remoteInvalidation();
        bothTakeInvalidate = takesInvalidate && theirs.remoteInvalidation();
        readChunkReplies = config.readChunkReplies();
        if (readChunkReplies == null && own.readChunkReplies() && theirs.readChunkReplies()) {
            readChunkReplies = ReadChunkReplyConfig.announced(config.maxConnectionBytes());
        }
    }

    /** Which versions are spoken, and which of them calls are sent in; {@code null} before active. Any thread. */
    ProtocolVersions versions() {
        return versions;
    }

    PrivateData peer() {
        return peer;
    }

    /** Whether a Send may invalidate (RFC 8797, 4.1). */
    boolean bothTakeInvalidate() {
        return bothTakeInvalidate;
    }

    /** Whether own calls may have chunks: forward ones may. */
    boolean callsMayHaveChunks() {
        return !isServer || config.reverseChunks();
    }

    /** Whether chunks are taken in calls of the peer. */
    boolean takesChunks() {
        return isServer || config.reverseChunks();
    }

    /** Whether replies to own calls may come in Read chunks. */
    boolean takesReadChunkReplies(int version) {
        return !isServer && speaksReadChunkReplies(version);
    }

    /** Whether replies may be sent in Read chunks. */
    boolean sendsReadChunkReplies(int version) {
        return isServer && speaksReadChunkReplies(version);
    }

    /** How replies in Read chunks are sent and taken; {@code null} when they are not. */
    ReadChunkReplyConfig readChunkReplies() {
        return readChunkReplies;
    }

    private boolean speaksReadChunkReplies(int version) {
        return readChunkReplies != null && readChunkReplies.arePartOf(version);
    }

    /** Whether nothing that is written leaves any more: a close may still wait for what was sent before it. */
    boolean isOutputClosed() {
        return channel.unsafe().outboundBuffer() == null;
    }

    ByteBuf buffer(int capacity) {
        return channel.registeredBuffer(capacity);
    }

    /** The whole message in registered memory. */
    ByteBuf whole(RpcMessage message) {
        ByteBuf whole = buffer(Math.toIntExact(message.wholeLength()));
        message.writeWhole(whole);
        return whole;
    }

    /** Sets the listener of all memory that the peer may reach. */
    void exposures(ExposureListener listener) {
        exposures = listener;
    }

    /** As {@link RdmaChannel#expose}. */
    int expose(ByteBuf memory, int index, int length, RemoteAccess access) {
        int handle = channel.expose(memory, index, length, access);
        if (exposures != null) {
            exposures.exposed(handle, memory, index, length);
        }
        return handle;
    }

    void invalidate(int handle) {
        if (exposures != null) {
            exposures.invalidated(handle);
        }
        if (!channel.isActive()) {
            return; // the handles went with the connection
        }
        boolean isExposed = channel.isExposed(handle);
        metrics.increment(
                isExposed
                        ? RpcRdmaCounter.LOCAL_INVALIDATIONS
                        : RpcRdmaCounter.REMOTE_INVALIDATIONS);
        if (!isExposed && !takesInvalidate) {
            closeNow(
                    "the peer has sent a Send With Invalidate (expected: none, remoteInvalidation"
                            + " is not announced; RFC 8797, 4.1)",
                    null);
            return;
        }
        try {
            channel.invalidate(handle);
        } catch (RuntimeException e) {
            closeNow("memory cannot be invalidated", e);
        }
    }

    /** Drops a message: as {@link #report}. */
    void drop(RpcRdmaCounter reason, int xid, String what) {
        report(xid, Refusal.drop(reason, what));
    }

    /** Counts and logs a refusal; ends the connection when that is the answer. Whoever holds the message answers. */
    void report(int xid, Refusal refusal) {
        Refusal.Answer answer = refusal.answer();
        if (refusal.counter() != null) {
            metrics.increment(refusal.counter());
        }
        if (answer.counter() != null) {
            metrics.increment(answer.counter());
        }
        switch (answer) {
            case NONE -> FlightEvents.drop(channel, refusal.counter(), refusal.problem());
            case SYSTEM_ERR ->
                    UserCode.failed(
                            "what XID 0x" + Integer.toHexString(xid) + " needs at a responder",
                            refusal.exception());
            case CLOSE -> closeNow(refusal.problem(), refusal.exception());
            default -> {}
        }
        if (answer.action() != null) {
            problems.report(refusal.problem(), xid, answer.action());
        }
    }

    void problem(int xid, String what, String action) {
        problems.report(what, xid, action);
    }

    /** Remembers a call whose RDMA operation has failed, and not been flushed with others (RFC 8166, 4.5.3). */
    void blame(int xid, Throwable cause) {
        if (cause instanceof RdmaException) {
            peers.fatalXids().add(channel.remoteAddress().getAddress(), xid);
        }
    }

    /** Whether a call with that XID has ended an earlier connection of this client. */
    boolean isFatal(int xid) {
        return peers.fatalXids().contains(channel.remoteAddress().getAddress(), xid);
    }

    /** Whether the responder is known to speak version 1 only. */
    boolean isVersionRemembered() {
        return peers.versions()
                .contains(channel.remoteAddress(), config.versionTwo().memoryNanos());
    }

    void rememberVersionOne() {
        SocketAddress responder = channel.remoteAddress();
        if (responder != null) {
            peers.versions().add(responder);
        }
    }

    /** When what is written goes out. */
    FlushConsolidation flushes() {
        return flushes;
    }

    /** The connection is about to end; the first reason is the one that is counted. */
    void ends(RpcRdmaCounter how) {
        if (end == null) {
            end = how;
        }
    }

    /** How the connection has ended. */
    RpcRdmaCounter end() {
        if (end != null) {
            return end;
        }
        return channel.eventLoop().isShuttingDown()
                ? RpcRdmaCounter.CONNECTIONS_CLOSED_HERE
                : RpcRdmaCounter.CONNECTIONS_CLOSED_BY_PEER;
    }

    /**
     * Closes the channel; the first cause is the one that is told. A peer that comes back at once may do so again and
     * again, so it is not told of every connection.
     */
    void closeNow(String why, Throwable cause) {
        if (isClosing) {
            return;
        }
        isClosing = true;
        ends(RpcRdmaCounter.CONNECTIONS_GIVEN_UP);
        FlightEvents.close(channel, why);
        long suppressed = peers.closeLog().take();
        if (suppressed >= 0) {
            LOGGER.warn("{} closed: {} ({} more not shown)", channel, why, suppressed, cause);
        } else {
            LOGGER.debug("{} closed: {}", channel, why, cause);
        }
        channel.close();
    }
}
