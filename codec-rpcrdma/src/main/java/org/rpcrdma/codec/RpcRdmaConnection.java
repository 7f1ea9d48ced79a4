// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.AttributeKey;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.XdrCursor;

/**
 * The state of RPC-over-RDMA on one channel, shared by its handlers: thresholds, credits and outstanding calls. It is
 * changed on the event loop only; the public getters may be called from any thread and give what was true lately.
 */
public final class RpcRdmaConnection {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(RpcRdmaConnection.class);

    private static final AttributeKey<RpcRdmaConnection> KEY =
            AttributeKey.valueOf(RpcRdmaConnection.class, "CONNECTION");

    // Written for every call: readers elsewhere need no order, so the event loop pays for no fence.
    private static final VarHandle CREDITS_GRANTED;
    private static final VarHandle CALLS_IN_FLIGHT;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            CREDITS_GRANTED =
                    lookup.findVarHandle(RpcRdmaConnection.class, "creditsGranted", long.class);
            CALLS_IN_FLIGHT =
                    lookup.findVarHandle(RpcRdmaConnection.class, "callsInFlight", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Exchanges kept for later calls: more than this are only out in a burst. */
    private static final int MAX_SPARES = 256;

    private final RdmaChannel channel;
    private final RpcRdmaConfig config;
    private final ConnectionMetrics metrics;
    private final ProblemLog problems;
    private final boolean isServer;

    // One table for each direction: the same XID may be live in both (RFC 8167, 2.4.1).
    private final IntObjectHashMap<RpcRdmaExchange> calls = new IntObjectHashMap<>();
    private final IntObjectHashMap<RpcRdmaExchange> served = new IntObjectHashMap<>();

    private final RpcRdmaExchange[] spares = new RpcRdmaExchange[MAX_SPARES];
    private int spareCount;

    private RequesterCredits requesterCredits;
    private ResponderCredits responderCredits;
    private GrantControl grants;
    private volatile PrivateData peer = PrivateData.DEFAULT;

    /** {@code null} before active. */
    private volatile ProtocolVersions versions;

    @SuppressWarnings("UnusedVariable") // by its handle
    private long creditsGranted = 1;

    @SuppressWarnings("UnusedVariable") // by its handle
    private int callsInFlight;

    /** The upper layer has opened the reverse direction (RFC 8167, 6). */
    private volatile boolean isReverse;

    private boolean isStarted;
    private boolean isClosed;
    private boolean isClosing;
    private boolean isFlushPending;
    private long pulledBytes;
    private long chunkErrorsInRow;

    /** {@code null} without a cache. */
    private DuplicateRequests duplicates;

    /** {@code null} at a side that sends no replies in Read chunks. */
    private final WaitingReplies waitingReplies;

    private boolean bothTakeInvalidate;

    private final ReplyWork[] spareWork = new ReplyWork[MAX_SPARES];
    private int spareWorkCount;

    // Scratch, in use during one call into a handler.
    private TransportHeader received = new TransportHeader();
    private final RpcCallHeader rpc = new RpcCallHeader();
    private final XdrCursor cursor = new XdrCursor();
    private final ReplyLimits limits = new ReplyLimits();

    RpcRdmaConnection(RdmaChannel channel, RpcRdmaConfig config) {
        this.channel = channel;
        this.config = config;
        metrics = new ConnectionMetrics(config.metrics());
        problems = new ProblemLog(channel);
        isServer = channel.parent() != null;
        waitingReplies =
                isServer && config.readChunkReplies() != null
                        ? new WaitingReplies(this, config.readChunkReplies())
                        : null;
        requesterCredits = new RequesterCredits(config.requestedCredits());
        responderCredits = new ResponderCredits(config.grantedCredits(), config.grantedCredits());
        grants = new GrantControl(this, responderCredits);
        channel.attr(KEY).set(this);
    }

    /** The connection of a channel that has the handlers; {@code null} otherwise. Any thread. */
    public static RpcRdmaConnection of(Channel channel) {
        return channel.attr(KEY).get();
    }

    // ------------------------------------------------------------------ readable from outside

    /** The longest Send to the peer in bytes: the smaller of what is sent here and received there. 0 before active. */
    public int sendThreshold() {
        ProtocolVersions spoken = versions;
        return spoken == null ? 0 : spoken.current().sendThreshold();
    }

    /** The longest Send from the peer in bytes. 0 before active. */
    public int receiveThreshold() {
        ProtocolVersions spoken = versions;
        return spoken == null ? 0 : spoken.current().receiveThreshold();
    }

    /**
     * The version that calls from here are sent in, 1 or 2; 0 until it is known, which takes the answer to a first call when
     * version 2 is spoken here. An accepting side goes by the calls that it has answered last (RFC 8167, 5.1).
     */
    public int version() {
        ProtocolVersions spoken = versions;
        return spoken == null ? 0 : spoken.settled();
    }

    /** What the peer has announced; the defaults of version 1 before active, and when it has announced nothing. */
    public PrivateData peer() {
        return peer;
    }

    /** The credits granted by the peer as responder; 1 until its first reply. */
    public long creditsGranted() {
        return (long) CREDITS_GRANTED.getOpaque(this);
    }

    /** The calls that were sent and not answered. */
    public int callsInFlight() {
        return (int) CALLS_IN_FLIGHT.getOpaque(this);
    }

    /** A counter of this connection. */
    public long value(RpcRdmaCounter counter) {
        return metrics.value(counter);
    }

    // ------------------------------------------------------------------ life cycle

    /** Computes the thresholds when both sides' private data is known (RFC 8166, 3.3.2; RFC 8797). */
    void start() {
        if (isStarted || isClosed) {
            return;
        }
        isStarted = true;
        byte[] announced = channel.config().getOption(RdmaChannelOption.PRIVATE_DATA);
        PrivateData own = announced == null ? PrivateData.DEFAULT : PrivateData.find(announced);
        byte[] theirs = channel.peerPrivateData();
        peer = theirs == null ? PrivateData.DEFAULT : PrivateData.find(theirs);
        bothTakeInvalidate = own.remoteInvalidation() && peer.remoteInvalidation();
        versions = new ProtocolVersions(own, peer, config.versionTwo() != null);
        channel.config().setOption(RdmaChannelOption.MAX_SEND_SIZE, versions.longestSend());
        startCredits(channel.keptReceives());
        publishCredits();
        config.metrics().opened(this);
    }

    /**
     * The two directions share the receives (RFC 8167, 4.3): together they never promise more than there are. Those for the
     * reverse direction are not kept before the upper layer has opened it.
     */
    private void startCredits(int receives) {
        int reverse = Math.min(config.reverseCredits(), receives / 2);
        int wanted = isServer ? config.grantedCredits() : config.requestedCredits();
        int forward = Math.min(wanted, receives - reverse);
        requesterCredits = new RequesterCredits(isServer ? 0 : forward);
        responderCredits = new ResponderCredits(isServer ? forward : 0, receives);
        grants = new GrantControl(this, responderCredits);
        if (reverse > 0) {
            channel.keepReceives(forward);
        }
    }

    // ------------------------------------------------------------------ reverse direction

    /**
     * Connecting side: takes calls of the accepting side from now on; before, they are dropped (RFC 8167, 6). The receives
     * for them are posted when this returns, so only then may the upper layer tell the peer that it is ready. Once for a
     * connection, on its event loop, when the channel is active.
     *
     * @param credits the most calls that the peer may have out, 1 to {@link RpcRdmaConfig#reverseCredits()}
     * @return the credits that will be granted: fewer when memory or {@link RdmaChannelOption#RECEIVE_DEPTH} end before
     * @throws IllegalStateException when there is no room, or this is the accepting side
     */
    public int acceptReverseCalls(int credits) {
        checkReverse(!isServer, "accepts reverse calls", "connecting");
        if (credits < 1 || credits > config.reverseCredits()) {
            throw new IllegalArgumentException(
                    "credits: "
                            + credits
                            + " (expected: 1 to the "
                            + config.reverseCredits()
                            + " of RpcRdmaConfig.reverseCredits)");
        }
        if (isReverse) {
            throw new IllegalStateException("reverse calls are accepted already: " + channel);
        }
        int forReplies = requesterCredits.requested();
        int granted = Math.min(credits, channel.keepReceives(forReplies + credits) - forReplies);
        checkReceives(granted);
        responderCredits = new ResponderCredits(granted, granted);
        grants = new GrantControl(this, responderCredits);
        grants.keepForReplies(forReplies);
        isReverse = true;
        return granted;
    }

    /**
     * Accepting side: allows calls to the connecting side from now on, because the upper layer knows that it is ready for
     * them (RFC 8167, 6); before, they fail. {@link RpcRdmaCallback} does this by itself. Event loop only, when the channel
     * is active; again is no error.
     *
     * @throws IllegalStateException when there is no room for their replies, or this is the connecting side
     */
    public void allowReverseCalls() {
        checkReverse(isServer, "allows reverse calls", "accepting");
        if (!isReverse) {
            int requested = grants.keepForReplies(config.reverseCredits());
            checkReceives(requested);
            requesterCredits.request(requested);
            isReverse = true;
        }
    }

    /** Whether the reverse direction is open on this side of the connection. Any thread. */
    public boolean isReverseOpen() {
        return isReverse;
    }

    private void checkReverse(boolean isRightSide, String what, String side) {
        if (!isRightSide) {
            throw new IllegalStateException(
                    "only the " + side + " side " + what + " (RFC 8167, 2.2): " + channel);
        }
        if (!channel.eventLoop().inEventLoop()) {
            throw new IllegalStateException(
                    "the reverse direction is opened on "
                            + Thread.currentThread().getName()
                            + " (expected: on the event loop of "
                            + channel
                            + ')');
        }
        if (!isStarted() || !channel.isActive()) {
            throw new IllegalStateException(
                    "the reverse direction is opened on a channel that is not active: " + channel);
        }
        if (config.reverseCredits() == 0) {
            throw new IllegalStateException(
                    "no room for reverse calls: RpcRdmaConfig.reverseCredits is 0 (expected: as"
                            + " many as may be out at a time)");
        }
    }

    private void checkReceives(int left) {
        if (left < 1) {
            throw new IllegalStateException(
                    "no receives are left for the reverse direction of "
                            + channel
                            + " (expected: RECEIVE_DEPTH as RpcRdmaConfig.applyTo sets it, and"
                            + " memory to register)");
        }
    }

    boolean isStarted() {
        return isStarted && !isClosed;
    }

    /** Why nothing can be written now; {@code null} when it can. */
    Exception writeProblem() {
        // A listener of the connect promise runs before channelActive.
        if (!isStarted && channel.isActive()) {
            start();
        }
        if (isClosed) {
            return new ClosedChannelException();
        }
        return isStarted ? null : new NotYetConnectedException();
    }

    /** Why no call with this XID can be sent; {@code null} when it can. */
    Exception callProblem(int xid) {
        if (!mayCall()) {
            return new IllegalStateException(
                    "call from the accepting side (expected: none before allowReverseCalls says"
                            + " that the peer is ready; RFC 8167, 6)");
        }
        if (isServer && !versions.isSettled()) {
            return new IllegalStateException(
                    "call before one of the peer was answered (expected: none, it has the version"
                            + " of the peer's calls)");
        }
        return calls.containsKey(xid)
                ? new IllegalStateException(
                        "call with XID 0x"
                                + Integer.toHexString(xid)
                                + " (expected: one that is not in use)")
                : null;
    }

    /** Ends all calls: nobody reaches their memory any more, because the channel is closed. */
    void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        for (RpcRdmaExchange exchange : calls.values()) {
            exchange.fence();
            if (!exchange.hasPendingReads()) {
                exchange.clear();
            }
        }
        calls.clear();
        for (RpcRdmaExchange exchange : served.values()) {
            // Reads that are out still hold the exchange; the last of them clears it.
            if (!exchange.hasPendingReads()) {
                exchange.clear();
            }
        }
        served.clear();
        if (waitingReplies != null) {
            waitingReplies.close();
        }
        if (duplicates != null) {
            duplicates.close();
        }
        CALLS_IN_FLIGHT.setOpaque(this, 0);
        config.metrics().closed(this);
    }

    boolean isClosed() {
        return isClosed;
    }

    void invalidate(int handle) {
        if (!channel.isActive()) {
            return; // the handles went with the connection
        }
        metrics.increment(
                channel.isExposed(handle)
                        ? RpcRdmaCounter.LOCAL_INVALIDATIONS
                        : RpcRdmaCounter.REMOTE_INVALIDATIONS);
        try {
            channel.invalidate(handle);
        } catch (RuntimeException e) {
            closeNow("memory cannot be invalidated", e);
        }
    }

    /** Remembers a call whose RDMA operation has failed, and not been flushed with others (RFC 8166, 4.5.3). */
    void blame(int xid, Throwable cause) {
        if (cause instanceof RdmaException && isResponder()) {
            config.fatalXids().add(channel.remoteAddress().getAddress(), xid);
        }
    }

    /** Whether a call with that XID has ended an earlier connection of this client. */
    boolean isFatal(int xid) {
        return config.fatalXids().contains(channel.remoteAddress().getAddress(), xid);
    }

    /** A listener for a work request of a reply. */
    ReplyWork replyWork(int xid) {
        ReplyWork work = spareWorkCount == 0 ? new ReplyWork(this) : spareWork[--spareWorkCount];
        return work.of(xid);
    }

    void recycle(ReplyWork work) {
        if (spareWorkCount < MAX_SPARES) {
            spareWork[spareWorkCount++] = work;
        }
    }

    /** {@code null} without a cache. */
    DuplicateRequests duplicates() {
        return duplicates;
    }

    void duplicates(DuplicateRequests.Target target) {
        if (config.duplicateRequestCache() != null) {
            duplicates = new DuplicateRequests(this, config.duplicateRequestCache(), target);
        }
    }

    /** An ERR_CHUNK is written; gives back what follows it. */
    ChannelFutureListener chunkErrorSent() {
        metrics.increment(RpcRdmaCounter.CHUNK_ERRORS_SENT);
        if (++chunkErrorsInRow != config.maxChunkErrors()) {
            return ChannelFutureListener.CLOSE_ON_FAILURE;
        }
        metrics.increment(RpcRdmaCounter.CHUNK_ERROR_DISCONNECTS);
        return sent ->
                closeNow(
                        "the last "
                                + config.maxChunkErrors()
                                + " calls of the peer were answered with ERR_CHUNK",
                        null);
    }

    void replySent(ProtocolVersion version) {
        chunkErrorsInRow = 0;
        versions.replied(version.number());
        Runnable waiting = isServer ? versions.follow(version.number()) : null;
        if (waiting != null) {
            channel.eventLoop().execute(waiting);
        }
    }

    /** Which versions are spoken, and which of them calls are sent in. Not before {@link #start}. */
    ProtocolVersions versions() {
        return versions;
    }

    /** Whether the responder is known to speak version 1 only. */
    boolean isVersionRemembered() {
        return config.versionTwo().memory().contains(channel.remoteAddress());
    }

    void rememberVersionOne() {
        SocketAddress responder = channel.remoteAddress();
        if (responder != null) {
            config.versionTwo().memory().add(responder);
        }
    }

    /** Closes the channel of a silent responder: until the version is settled, version 2 may be why (draft, 5.2). */
    void closeUnanswered(String why) {
        if (!versions.isSettled()) {
            rememberVersionOne();
        }
        closeNow(why, null);
    }

    /**
     * Closes the channel; the first cause is the one that is told. A peer that comes back at once may do so again and again,
     * so it is not told of every connection.
     */
    void closeNow(String why, Throwable cause) {
        if (isClosing) {
            return;
        }
        isClosing = true;
        long suppressed = config.closeLog().take();
        if (suppressed >= 0) {
            LOGGER.warn("{} closed: {} ({} more not shown)", channel, why, suppressed, cause);
        } else {
            LOGGER.debug("{} closed: {}", channel, why, cause);
        }
        channel.close();
    }

    // ------------------------------------------------------------------ calls

    RpcRdmaExchange newCall(int xid) {
        RpcRdmaExchange exchange = acquire(xid);
        exchange.isRequester = true;
        exchange.layout.apart(false);
        exchange.protocol = versions.current();
        exchange.state = RpcRdmaExchange.State.QUEUED;
        calls.put(xid, exchange);
        return exchange;
    }

    RpcRdmaExchange call(int xid) {
        return calls.get(xid);
    }

    /** Whether a call with this XID is out. */
    boolean isAwaited(int xid) {
        RpcRdmaExchange call = calls.get(xid);
        return call != null && call.isUnanswered();
    }

    RpcRdmaExchange newServed(int xid, int version) {
        RpcRdmaExchange exchange = acquire(xid);
        exchange.isRequester = false;
        exchange.layout.apart(config.annotatedCalls());
        exchange.protocol = versions.ofReply(version);
        exchange.state = RpcRdmaExchange.State.PULLING;
        served.put(xid, exchange);
        return exchange;
    }

    RpcRdmaExchange served(int xid) {
        return served.get(xid);
    }

    private RpcRdmaExchange acquire(int xid) {
        RpcRdmaExchange exchange =
                spareCount == 0 ? new RpcRdmaExchange(this) : spares[--spareCount];
        exchange.xid = xid;
        return exchange;
    }

    /** Forgets a call; it is fenced, or was never sent. */
    void finish(RpcRdmaExchange exchange) {
        IntObjectHashMap<RpcRdmaExchange> table = exchange.isRequester ? calls : served;
        if (table.get(exchange.xid) == exchange) {
            table.remove(exchange.xid);
        }
        pulledBytes -= exchange.pulledBytes;
        exchange.pulledBytes = 0;
        exchange.clear();
        if (spareCount < MAX_SPARES) {
            spares[spareCount++] = exchange;
        }
    }

    /** Whether the connection may pull so much more; counts it if so. */
    boolean pull(RpcRdmaExchange exchange, int bytes) {
        if (pulledBytes + bytes > config.maxConnectionBytes()) {
            return false;
        }
        pulledBytes += bytes;
        exchange.pulledBytes = bytes;
        return true;
    }

    /** Puts the received lists into the exchange, without a copy: the two headers change places. */
    void keepHeader(RpcRdmaExchange exchange) {
        TransportHeader kept = received;
        received = exchange.header;
        exchange.header = kept;
    }

    /** As {@link #keepHeader}, of an error or an option: the lists of an earlier message may still be there. */
    void keepHeaderWithoutLists(RpcRdmaExchange exchange) {
        received.clear();
        keepHeader(exchange);
    }

    // ------------------------------------------------------------------ shared by the handlers

    RdmaChannel channel() {
        return channel;
    }

    RpcRdmaConfig config() {
        return config;
    }

    ConnectionMetrics metrics() {
        return metrics;
    }

    RequesterCredits requesterCredits() {
        return requesterCredits;
    }

    ResponderCredits responderCredits() {
        return responderCredits;
    }

    /** What decides the grants. */
    GrantControl grants() {
        return grants;
    }

    long pulledBytes() {
        return pulledBytes;
    }

    void publishCredits() {
        CREDITS_GRANTED.setOpaque(this, requesterCredits.granted());
        CALLS_IN_FLIGHT.setOpaque(this, requesterCredits.inFlight());
    }

    /** Whether this is the accepting side. */
    boolean isServer() {
        return isServer;
    }

    /** Whether calls are answered here. */
    boolean isResponder() {
        return isServer || isReverse;
    }

    /** Whether calls may be sent from here. */
    boolean mayCall() {
        return !isServer || isReverse;
    }

    /** Whether own calls may have chunks: forward ones may. */
    boolean callsMayHaveChunks() {
        return !isServer || config.reverseChunks();
    }

    /** Whether chunks are taken in calls of the peer. */
    boolean takesChunks() {
        return isServer || config.reverseChunks();
    }

    boolean peerTakesInvalidate() {
        return peer.remoteInvalidation();
    }

    boolean bothTakeInvalidate() {
        return bothTakeInvalidate;
    }

    /** The replies that wait for their pull completion; {@code null} at a side that sends none in Read chunks. */
    WaitingReplies waitingReplies() {
        return waitingReplies;
    }

    /** Whether replies to own calls may come in Read chunks. */
    boolean takesReadChunkReplies(int version) {
        return !isServer
                && config.readChunkReplies() != null
                && PullCompletion.isPartOf(version, config.readChunkReplies());
    }

    /** Whether replies may be sent in Read chunks. */
    boolean sendsReadChunkReplies(int version) {
        return waitingReplies != null
                && PullCompletion.isPartOf(version, config.readChunkReplies());
    }

    /** The header of the message that is being handled. */
    TransportHeader received() {
        return received;
    }

    RpcCallHeader rpc() {
        return rpc;
    }

    XdrCursor cursor() {
        return cursor;
    }

    ReplyLimits limits() {
        return limits;
    }

    ByteBuf buffer(int capacity) {
        return channel.registeredBuffer(capacity);
    }

    void drop(RpcRdmaCounter reason, int xid, String what) {
        metrics.increment(reason);
        problems.report(what, xid, "dropped");
    }

    void problem(int xid, String what, String action) {
        problems.report(what, xid, action);
    }

    /** Something was written while a batch of messages is read: it is flushed once at the end of the batch. */
    void flushLater() {
        isFlushPending = true;
    }

    void flushNow(ChannelHandlerContext ctx) {
        if (isFlushPending) {
            isFlushPending = false;
            ctx.flush();
        }
    }
}
