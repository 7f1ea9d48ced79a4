// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import java.nio.channels.NotYetConnectedException;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * State of RPC-over-RDMA on one channel, shared by its handlers: thresholds, credits and outstanding calls. Changed on
 * the event loop only; the public getters may be called from any thread and return recent values.
 */
public final class RpcRdmaConnection {

    private static final AttributeKey<RpcRdmaConnection> KEY =
            AttributeKey.valueOf(RpcRdmaConnection.class, "CONNECTION");

    private final ConnectionSharedState link;
    private final RdmaChannel channel;
    private final RpcRdmaConfig config;
    private final RpcRdmaMetrics metrics;
    private final RequesterState requester;
    private final ResponderState responder;
    private final UnclassifiedLongMessages unclassified = new UnclassifiedLongMessages();

    /** Whether the upper layer has opened the reverse direction (RFC 8167, 6). */
    private volatile boolean isReverse;

    private boolean isStarted;
    boolean isClosed;

    RpcRdmaConnection(RdmaChannel channel, RpcRdmaConfig config, RpcRdmaMetrics metrics) {
        this.channel = channel;
        this.config = config;
        this.metrics = metrics;
        if (!CrossConnectionPeerState.isKept(channel)
                && channel.config().getPrivateData().length == 0
                && channel.isConfigurable()) {
            // Sets the private data here, because a bootstrap without applyTo does not know the
            // configuration.
            config.applyTo(channel);
        }
        link = new ConnectionSharedState(channel, config, new ConnectionMetrics(metrics));
        requester = new RequesterState(link);
        responder = new ResponderState(link);
        channel.attr(KEY).set(this);
        fitToDevice();
    }

    /** Adapts the private data to the device, which is known here for the first time. */
    private void fitToDevice() {
        if (!channel.isConfigurable()) {
            return;
        }
        PrivateData fitting = announced();
        if (!link.internals.takesInvalidation()) {
            fitting = fitting.withoutInvalidation();
        }
        if (link.internals.receivesWithoutMemory()
                && announced().isEncodedAs(config.privateData())) {
            fitting = fitting.withLongSize(config.longSizeFor(channel.config().getReceiveDepth()));
        }
        if (fitting.longSize() > channel.config().getReceiveSize()) {
            // After the announcement the peer may send before this side learns that the connection
            // is established.
            link.internals.receiveUpTo(fitting.longSize());
        }
        if (!fitting.isEncodedAs(announced())) {
            byte[] configured = channel.config().getPrivateData();
            channel.config()
                    .setOption(RdmaChannelOption.PRIVATE_DATA, fitting.replaceIn(configured));
        }
    }

    /**
     * {@return the connection of a channel that has the handlers; {@code null} otherwise} Any thread.
     *
     * @param channel any, of any transport
     */
    public static RpcRdmaConnection of(Channel channel) {
        return channel.attr(KEY).get();
    }

    // ------------------------------------------------------------------ readable from outside

    /**
     * {@return the longest Send to the peer in bytes: the smaller of this side's send size and the peer's receive size}
     * 0 before active.
     */
    public int sendThreshold() {
        ConnectionProtocolVersions spoken = link.versions;
        return spoken == null ? 0 : spoken.current.sendThreshold;
    }

    /** {@return the longest Send from the peer in bytes} 0 before active. */
    public int receiveThreshold() {
        ConnectionProtocolVersions spoken = link.versions;
        return spoken == null ? 0 : spoken.current.receiveThreshold;
    }

    /**
     * {@return the version of outbound calls, 1 or 2; 0 until known, which requires the answer to a first call if
     * version 2 is configured} An accepting side uses the version of the call that it has answered last (RFC 8167,
     * 5.1).
     */
    public int version() {
        ConnectionProtocolVersions spoken = link.versions;
        return spoken == null ? 0 : spoken.settled();
    }

    /**
     * {@return the private data of the peer; the defaults of version 1 before active, and if the peer has announced
     * none}
     */
    public PrivateData peer() {
        return link.peer();
    }

    /**
     * {@return the private data announced to the peer: the configuration, restricted to the device's capabilities} Any
     * thread.
     */
    public PrivateData announced() {
        byte[] announced = channel.config().getOption(RdmaChannelOption.PRIVATE_DATA);
        return announced == null ? PrivateData.DEFAULT : PrivateData.find(announced);
    }

    /** {@return the credits granted by the peer as responder; 1 until its first reply} */
    public long creditsGranted() {
        return value(RpcRdmaGauge.CREDITS_GRANTED);
    }

    /** {@return the calls that were sent and not answered} */
    public int callsInFlight() {
        return (int) value(RpcRdmaGauge.CALLS_IN_FLIGHT);
    }

    /**
     * {@return a counter of this connection}
     *
     * @param counter which one
     */
    public long value(RpcRdmaCounter counter) {
        return link.metrics.value(counter);
    }

    /**
     * {@return a gauge of this connection}
     *
     * @param gauge which one
     */
    public long value(RpcRdmaGauge gauge) {
        return link.metrics.value(gauge);
    }

    /** {@return the counters that those of this connection are added to, which the codec was given} */
    public RpcRdmaMetrics metrics() {
        return metrics;
    }

    /** Peer, version, thresholds, credits and calls. Any thread. */
    @Override
    public String toString() {
        return "RpcRdmaConnection("
                + channel
                + ", version "
                + version()
                + ", sends up to "
                + sendThreshold()
                + " and receives up to "
                + receiveThreshold()
                + " bytes inline, "
                + callsInFlight()
                + " calls of "
                + creditsGranted()
                + " credits in flight, "
                + value(RpcRdmaGauge.CALLS_WAITING)
                + " waiting, "
                + value(RpcRdmaGauge.CALLS_IN_PROGRESS)
                + " of "
                + value(RpcRdmaGauge.CREDITS_OFFERED)
                + " in progress)";
    }

    // ------------------------------------------------------------------ memory

    /**
     * Allocates registered memory for an RPC message that is written to this channel immediately, with room in front
     * for its transport header: a message that goes into one Send is sent from there, without a copy, if its writer
     * gives away the only reference. Otherwise as {@link RdmaChannel#sendBuffer}. Event loop only; may be released on
     * any thread.
     *
     * @param capacity of the message in bytes; the buffer does not grow beyond it
     * @return an empty buffer, owned by the caller; its reader index is not 0, and stays where the message begins
     * @throws IllegalStateException when there is no more memory to register, at once, or when another thread calls
     */
    public ByteBuf messageBuffer(int capacity) {
        int room = TransportHeader.ONE_CHUNK_BYTES;
        return channel.sendBuffer(Math.addExact(room, capacity)).setIndex(room, room);
    }

    // ------------------------------------------------------------------ life cycle

    /** Computes the thresholds when both sides' private data is known (RFC 8166, 3.3.2; RFC 8797). */
    void start() {
        if (isStarted || isClosed) {
            return;
        }
        isStarted = true;
        byte[] theirs = channel.peerPrivateData();
        PrivateData peer = theirs == null ? PrivateData.DEFAULT : PrivateData.find(theirs);
        link.agreed(announced(), peer);
        channel.config().setOption(RdmaChannelOption.MAX_SEND_SIZE, link.versions.longestSend());
        if (link.internals.receivesWithoutMemory()) {
            int usual = channel.config().getReceiveSize();
            link.internals.receiveUpTo(Math.max(usual, link.versions.longestReceive()));
        }
        openForward(link.internals.keptReceives());
        metrics.opened(link.metrics);
    }

    /**
     * Opens the forward direction. Both directions share the receives (RFC 8167, 4.3), and together never promise more
     * than are posted. Receives for the reverse direction are reserved only when the upper layer opens it.
     */
    private void openForward(int receives) {
        int reverse = Math.min(config.reverseCredits(), receives / 2);
        int wanted = link.isServer ? config.grantedCredits() : config.requestedCredits();
        int forward = Math.min(wanted, receives - reverse);
        if (link.isServer) {
            responder.open(forward, receives);
        } else {
            requester.open(forward);
        }
        if (reverse > 0) {
            link.internals.keepReceives(link.isServer ? responder.grants().needed() : forward);
        }
    }

    // ------------------------------------------------------------------ reverse direction

    /**
     * Connecting side: accepts calls of the accepting side from now on; before, they are dropped (RFC 8167, 6). Their
     * receives are posted when this method returns; only then may the upper layer tell the peer that this side is
     * ready. Call once for each connection, on its event loop, when the channel is active.
     *
     * @param credits the most calls of the peer in flight, 1 to {@link RpcRdmaConfig#reverseCredits()}
     * @return the credits that will be granted: fewer if memory or {@link RdmaChannelOption#RECEIVE_DEPTH} does not
     *     suffice
     * @throws IllegalStateException if reverseCredits is 0, no receives are left, or this is the accepting side
     */
    public int acceptReverseCalls(int credits) {
        checkReverse(!link.isServer, "accepts reverse calls", "connecting");
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
        int forReplies = requester.credits.requested;
        int granted =
                Math.min(credits, link.internals.keepReceives(forReplies + credits) - forReplies);
        checkReceives(granted);
        responder.open(granted, granted);
        responder.grants().keepForReplies(forReplies);
        isReverse = true;
        return granted;
    }

    /**
     * Accepting side: allows calls to the connecting side from now on, because the upper layer knows that the peer is
     * ready for them (RFC 8167, 6); before, they fail. {@link org.rpcrdma.codec.client.RpcRdmaReverseRequester} calls
     * this method itself. Event loop only, when the channel is active; repeated calls have no effect.
     *
     * @throws IllegalStateException if there are no receives for the replies, or this is the connecting side
     */
    public void allowReverseCalls() {
        checkReverse(link.isServer, "allows reverse calls", "accepting");
        if (!isReverse) {
            int requested = responder.grants().keepForReplies(config.reverseCredits());
            checkReceives(requested);
            requester.open(requested);
            isReverse = true;
        }
    }

    /** {@return whether the reverse direction is open on this side of the connection} Any thread. */
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

    /** Exception if no message can be written now; {@code null} if one can. */
    Exception writeProblem() {
        // A listener of the connect promise runs before channelActive.
        if (!isStarted && channel.isActive()) {
            start();
        }
        if (isClosed) {
            return new CallNotSentException();
        }
        return isStarted ? null : new NotYetConnectedException();
    }

    /** Ends all calls. The channel is closed, so their memory is no longer exposed. */
    void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        requester.close();
        responder.close();
        unclassified.close();
        metrics.closed(link.metrics, link.end());
    }

    // ------------------------------------------------------------------ versions

    /** The versions spoken, and the version of outbound calls. Not before {@link #start}. */
    ConnectionProtocolVersions versions() {
        return link.versions;
    }

    /**
     * Closes the channel of a silent responder: until the version is settled, the proposal of version 2 may be the
     * cause (draft, 5.2).
     */
    void closeUnanswered(String why) {
        if (!link.versions.isSettled()) {
            link.rememberVersionOne();
        }
        link.closeNow(why, null);
    }

    // ------------------------------------------------------------------ parts

    /** The context shared by all parts of the connection. */
    ConnectionSharedState link() {
        return link;
    }

    /** The side that calls. */
    RequesterState requester() {
        return requester;
    }

    /** The side that answers. */
    ResponderState responder() {
        return responder;
    }

    /** Inbound messages of neither role yet. */
    UnclassifiedLongMessages unclassified() {
        return unclassified;
    }

    /** The outbound call with this XID; {@code null} if none. */
    OutboundCallState call(int xid) {
        return requester.call(xid);
    }

    /** Whether the outbound call with this XID is in flight. */
    boolean isAwaited(int xid) {
        return requester.unanswered(xid) != null;
    }
}
