// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.net.SocketAddress;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.channel.WorkRequestFailedException;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.internal.ExposureListener;
import org.rpcrdma.codec.internal.RpcRdmaFlightEvents;
import org.rpcrdma.codec.internal.UserExceptionLog;

/**
 * State of one connection that requester, responder and all stages share: channel, configuration, counters and
 * negotiated versions. Depends on none of them.
 */
final class ConnectionSharedState {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(ConnectionSharedState.class);

    final RdmaChannel channel;
    final ChannelInternals internals;
    private final RpcRdmaConfig config;
    final ConnectionMetrics metrics;
    private final FlushScheduler flushes;
    private final ProtocolViolationLog problems;
    private final CrossConnectionPeerState peers;

    /** Whether this is the accepting side. */
    final boolean isServer;

    private volatile PrivateData peer = PrivateData.DEFAULT;

    /** {@code null} before active. */
    volatile ConnectionProtocolVersions versions;

    private boolean takesInvalidate;

    /** Whether a Send may invalidate (RFC 8797, 4.1). */
    boolean bothTakeInvalidate;

    private ReadChunkReplyConfig readChunkReplies;

    /** {@code null} unless the connection is captured. */
    private ExposureListener exposures;

    private boolean isClosing;

    /** The counter of the connection's end; {@code null} while it is open, or when the peer ends it. */
    private RpcRdmaCounter end;

    ConnectionSharedState(RdmaChannel channel, RpcRdmaConfig config, ConnectionMetrics metrics) {
        this.channel = channel;
        internals = ChannelInternals.of(channel);
        this.config = config;
        this.metrics = metrics;
        flushes = new FlushScheduler(channel);
        problems = new ProtocolViolationLog(channel);
        peers = CrossConnectionPeerState.of(channel);
        isServer = channel.parent() != null;
    }

    RpcRdmaConfig config() {
        return config;
    }

    void agreed(PrivateData own, PrivateData theirs) {
        peer = theirs;
        versions = new ConnectionProtocolVersions(own, theirs, config);
        takesInvalidate = own.remoteInvalidation();
        bothTakeInvalidate = takesInvalidate && theirs.remoteInvalidation();
        readChunkReplies = config.readChunkReplies();
        if (readChunkReplies == null && own.readChunkReplies() && theirs.readChunkReplies()) {
            readChunkReplies = ReadChunkReplyConfig.announced(config.maxConnectionBytes());
        }
    }

    PrivateData peer() {
        return peer;
    }

    /** Whether outbound calls may have chunks: always in the forward direction. */
    boolean callsMayHaveChunks() {
        return !isServer || config.reverseChunks();
    }

    /** Whether inbound calls may have chunks. */
    boolean takesChunks() {
        return isServer || config.reverseChunks();
    }

    /** Whether inbound replies may come in Read chunks. */
    boolean takesReadChunkReplies(int version) {
        return !isServer && speaksReadChunkReplies(version);
    }

    /** Whether outbound replies may be sent in Read chunks. */
    boolean sendsReadChunkReplies(int version) {
        return isServer && speaksReadChunkReplies(version);
    }

    /** Settings of replies in Read chunks; {@code null} when they are off. */
    ReadChunkReplyConfig readChunkReplies() {
        return readChunkReplies;
    }

    private boolean speaksReadChunkReplies(int version) {
        return readChunkReplies != null && readChunkReplies.arePartOf(version);
    }

    ByteBuf buffer(int capacity) {
        return channel.registeredBuffer(capacity);
    }

    /** Copies the whole message into registered memory; the caller owns it. */
    ByteBuf whole(RpcMessage message) {
        ByteBuf whole = buffer(Math.toIntExact(message.wholeLength()));
        try {
            message.writeWhole(whole);
            return whole;
        } catch (Throwable t) {
            whole.release(); // the user's memory was released, for example
            throw t;
        }
    }

    /** Sets the listener that is told of all memory exposed to the peer. */
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
            return; // the handles became invalid with the connection
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

    /** Counts and logs a dropped message, as {@link #report} does. */
    void drop(RpcRdmaCounter reason, int xid, String what) {
        report(xid, InboundMessageRefusal.drop(reason, what));
    }

    /** Counts and logs a refusal, and closes the connection if the refusal says so. The caller answers the peer. */
    void report(int xid, InboundMessageRefusal refusal) {
        InboundMessageRefusal.Answer answer = refusal.answer();
        if (refusal.counter() != null) {
            metrics.increment(refusal.counter());
        }
        if (answer.counter() != null) {
            metrics.increment(answer.counter());
        }
        switch (answer) {
            case NONE -> RpcRdmaFlightEvents.drop(channel, refusal.counter(), refusal.problem());
            case SYSTEM_ERR ->
                    UserExceptionLog.failed(
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
        if (cause instanceof WorkRequestFailedException) {
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

    /** The flush scheduler of this connection. */
    FlushScheduler flushes() {
        return flushes;
    }

    /** Records why the connection is about to end; only the first reason is counted. */
    void ends(RpcRdmaCounter how) {
        if (end == null) {
            end = how;
        }
    }

    /** The counter of the connection's end. */
    RpcRdmaCounter end() {
        if (end != null) {
            return end;
        }
        return channel.eventLoop().isShuttingDown()
                ? RpcRdmaCounter.CONNECTIONS_CLOSED_HERE
                : RpcRdmaCounter.CONNECTIONS_CLOSED_BY_PEER;
    }

    /**
     * Closes the channel and logs the first cause, rate-limited: a peer may reconnect and fail over and over.
     */
    void closeNow(String why, Throwable cause) {
        if (isClosing) {
            return;
        }
        isClosing = true;
        try {
            ends(RpcRdmaCounter.CONNECTIONS_GIVEN_UP);
            RpcRdmaFlightEvents.close(channel, why);
            long suppressed = peers.closeLog().take();
            if (suppressed >= 0) {
                LOGGER.warn("{} closed: {} ({} more not shown)", channel, why, suppressed, cause);
            } else {
                LOGGER.debug("{} closed: {}", channel, why, cause);
            }
        } finally {
            channel.close(); // where there is no memory for the line too
        }
    }
}
