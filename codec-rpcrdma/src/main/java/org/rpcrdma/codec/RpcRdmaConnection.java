// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import java.nio.channels.NotYetConnectedException;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;

/**
 * The state of RPC-over-RDMA on one channel, shared by its handlers: thresholds, credits and outstanding calls. It is
 * changed on the event loop only; the public getters may be called from any thread and give what was true lately.
 */
public final class RpcRdmaConnection {

    private static final AttributeKey<RpcRdmaConnection> KEY =
            AttributeKey.valueOf(RpcRdmaConnection.class, "CONNECTION");

    private final ConnectionContext link;
    private final RdmaChannel channel;
    private final RpcRdmaConfig config;
    private final ReadChunkPulls pulls;
    private final RequesterState requester;
    private final ResponderState responder;

    /** The upper layer has opened the reverse direction (RFC 8167, 6). */
    private volatile boolean isReverse;

    private boolean isStarted;
    private boolean isClosed;

    RpcRdmaConnection(RdmaChannel channel, RpcRdmaConfig config) {
        this.channel = channel;
        this.config = config;
        if (!PeerCache.isKept(channel)
                && channel.config().getPrivateData().length == 0
                && channel.isConfigurable()) {
            // The bootstrap does not know the configuration: what the peer is told comes from here.
            config.applyTo(channel);
        }
        link = new ConnectionContext(channel, config);
        pulls = new ReadChunkPulls(link);
        requester = new RequesterState(link);
        responder = new ResponderState(link, pulls);
        channel.attr(KEY).set(this);
        fitToDevice();
    }

    /** Here the device is known for the first time. */
    private void fitToDevice() {
        if (!channel.isConfigurable()) {
            return;
        }
        PrivateData fitting = announced();
        if (!channel.takesInvalidation()) {
            fitting = fitting.withoutInvalidation();
        }
        if (channel.receivesWithoutMemory() && announced().equals(config.privateData())) {
            fitting = fitting.withLongSize(config.longSizeFor(channel.config().getReceiveDepth()));
        }
        if (fitting.longSize() > channel.config().getReceiveSize()) {
            // A peer that has been told may send before anybody here hears that it is connected.
            channel.receiveUpTo(fitting.longSize());
        }
        if (!fitting.equals(announced())) {
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
     * {@return the longest Send to the peer in bytes: the smaller of what is sent here and received there} 0 before
     * active.
     */
    public int sendThreshold() {
        ProtocolVersions spoken = link.versions();
        return spoken == null ? 0 : spoken.current().sendThreshold();
    }

    /** {@return the longest Send from the peer in bytes} 0 before active. */
    public int receiveThreshold() {
        ProtocolVersions spoken = link.versions();
        return spoken == null ? 0 : spoken.current().receiveThreshold();
    }

    /**
     * {@return the version that calls from here are sent in, 1 or 2; 0 until it is known, which takes the answer to a
     * first call when version 2 is spoken here} An accepting side goes by the calls that it has answered last (RFC
     * 8167, 5.1).
     */
    public int version() {
        ProtocolVersions spoken = link.versions();
        return spoken == null ? 0 : spoken.settled();
    }

    /**
     * {@return what the peer has announced; the defaults of version 1 before active, and when it has announced nothing}
     */
    public PrivateData peer() {
        return link.peer();
    }

    /** {@return what is announced to the peer: as configured, as far as the device can do it} Any thread. */
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
        return link.metrics().value(counter);
    }

    /**
     * {@return what is true of this connection at this moment}
     *
     * @param gauge which one
     */
    public long value(RpcRdmaGauge gauge) {
        return link.metrics().value(gauge);
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
                + " credits out, "
                + value(RpcRdmaGauge.CALLS_WAITING)
                + " waiting, "
                + value(RpcRdmaGauge.CALLS_IN_PROGRESS)
                + " of "
                + value(RpcRdmaGauge.CREDITS_OFFERED)
                + " in progress)";
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
        channel.config().setOption(RdmaChannelOption.MAX_SEND_SIZE, link.versions().longestSend());
        if (channel.receivesWithoutMemory()) {
            int usual = channel.config().getReceiveSize();
            channel.receiveUpTo(Math.max(usual, link.versions().longestReceive()));
        }
        openForward(channel.keptReceives());
        config.metrics().opened(link.metrics());
    }

    /**
     * The two directions share the receives (RFC 8167, 4.3): together they never promise more than there are. Those
     * for the reverse direction are not kept before the upper layer has opened it.
     */
    private void openForward(int receives) {
        int reverse = Math.min(config.reverseCredits(), receives / 2);
        int wanted = link.isServer() ? config.grantedCredits() : config.requestedCredits();
        int forward = Math.min(wanted, receives - reverse);
        if (link.isServer()) {
            responder.open(forward, receives);
        } else {
            requester.open(forward);
        }
        if (reverse > 0) {
            channel.keepReceives(forward);
        }
    }

    // ------------------------------------------------------------------ reverse direction

    /**
     * Connecting side: takes calls of the accepting side from now on; before, they are dropped (RFC 8167, 6). The
     * receives for them are posted when this returns, so only then may the upper layer tell the peer that it is
     * ready. Once for a connection, on its event loop, when the channel is active.
     *
     * @param credits the most calls that the peer may have out, 1 to {@link RpcRdmaConfig#reverseCredits()}
     * @return the credits that will be granted: fewer when memory or {@link RdmaChannelOption#RECEIVE_DEPTH} end before
     * @throws IllegalStateException when there is no room, or this is the accepting side
     */
    public int acceptReverseCalls(int credits) {
        checkReverse(!link.isServer(), "accepts reverse calls", "connecting");
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
        int forReplies = requester.credits().requested();
        int granted = Math.min(credits, channel.keepReceives(forReplies + credits) - forReplies);
        checkReceives(granted);
        responder.open(granted, granted);
        responder.grants().keepForReplies(forReplies);
        isReverse = true;
        return granted;
    }

    /**
     * Accepting side: allows calls to the connecting side from now on, because the upper layer knows that it is ready
     * for them (RFC 8167, 6); before, they fail. {@link org.rpcrdma.codec.client.RpcRdmaCallback} does this by itself.
     * Event loop only, when the channel is active; again is no error.
     *
     * @throws IllegalStateException when there is no room for their replies, or this is the connecting side
     */
    public void allowReverseCalls() {
        checkReverse(link.isServer(), "allows reverse calls", "accepting");
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

    /** Why nothing can be written now; {@code null} when it can. */
    Exception writeProblem() {
        // A listener of the connect promise runs before channelActive.
        if (!isStarted && channel.isActive()) {
            start();
        }
        if (isClosed) {
            return new NotSentException();
        }
        return isStarted ? null : new NotYetConnectedException();
    }

    /** Ends all calls: nobody reaches their memory any more, because the channel is closed. */
    void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        requester.close();
        responder.close();
        pulls.close();
        config.metrics().closed(link.metrics(), link.end());
    }

    boolean isClosed() {
        return isClosed;
    }

    // ------------------------------------------------------------------ versions

    /** Which versions are spoken, and which of them calls are sent in. Not before {@link #start}. */
    ProtocolVersions versions() {
        return link.versions();
    }

    /** Closes the channel of a silent responder: until the version is settled, version 2 may be why (draft, 5.2). */
    void closeUnanswered(String why) {
        if (!link.versions().isSettled()) {
            link.rememberVersionOne();
        }
        link.closeNow(why, null);
    }

    // ------------------------------------------------------------------ parts

    /** What all parts of the connection stand on. */
    ConnectionContext link() {
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

    /** What is read by RDMA Reads, for either side. */
    ReadChunkPulls pulls() {
        return pulls;
    }

    /** The call from here with this XID; {@code null} when there is none. */
    OutboundCall call(int xid) {
        return requester.call(xid);
    }

    /** Whether the call with this XID is out, and not answered. */
    boolean isAwaited(int xid) {
        return requester.unanswered(xid) != null;
    }
}
