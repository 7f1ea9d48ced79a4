// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultMessageSizeEstimator;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/**
 * Data path of a message channel: delivers each Send as one message in its receive buffer, and posts Sends, RDMA
 * Writes and RDMA Reads.
 */
final class MessageChannelDataPath extends AbstractChannelDataPath<RdmaChannel> {

    /**
     * Messages above this size may arrive in many segments, each delayed by the peer: their memory counts as incomplete
     * until arrival.
     */
    private static final int LEAST_COUNTED = 16 << 10;

    /**
     * Flushed messages of a codec that may be unsent while inbound ones are delivered; more where there are more
     * receives, or a longer send queue. A peer that takes its replies has a few of them unsent for each receive.
     */
    private static final int LEAST_UNSENT = 1024;

    private static final int UNSENT_PER_RECEIVE = 16;

    /**
     * The same in bytes, among them the data of RDMA Writes: all connections share the registered memory. Those of one
     * address together have {@link PeerUnsentQuota}.
     */
    private static final long MOST_UNSENT_BYTES =
            Math.min(256L << 20, RdmaChannel.registeredBytesLimit() / 8);

    private final RdmaChannelConfig config;
    private final QueuePair queuePair;
    private final ZeroCopyRegistrar memory;
    private final SendQueuePoster sends;

    /** Keep-alive timer for a device without its own; {@code null} for none. */
    private Future<?> keepAlive;

    /** Memory for data that the peer has begun to send. */
    final ChannelIncompleteMessageQuotaShare incomplete;

    /** Bytes counted for the incomplete Send; a peer has at most one. */
    private int incompleteSend;

    /** Number of the receive of the incomplete Send; -1 for none. */
    private int incompleteReceive = -1;

    /** Ends the connection of a peer that does not answer a Read. */
    final RdmaReadTimeout readDeadline;

    /** Receives that credits promise to the peer. */
    final PostedReceives receives;

    /** Memory that the peer may access. */
    final ChannelMemoryExposures exposures;

    /** Flushed messages that may be unsent; not below the depth of the send queue. */
    private final int mostUnsent;

    /** What counts for the address of the peer. */
    private final ChannelUnsentQuotaShare unsent;

    /** Whether inbound messages wait until the peer has taken outbound ones. */
    private boolean isHeld;

    /** @param memory decides what can be sent without a copy */
    MessageChannelDataPath(RdmaChannel channel, ZeroCopyRegistrar memory, QueuePair queuePair) {
        super(channel);
        this.queuePair = queuePair;
        this.memory = memory;
        config = channel.config();
        DeviceCapabilities device = channel.poller().context().capabilities();
        sends = new SendQueuePoster(queuePair, memory, config.getSendDepth(), channel);
        mostUnsent =
                Math.max(
                        Math.max(LEAST_UNSENT, config.getSendDepth()),
                        UNSENT_PER_RECEIVE * config.getReceiveDepth());
        incomplete =
                new ChannelIncompleteMessageQuotaShare(
                        this::peerAddress, config::getIncompleteBytesPerAddress);
        unsent = new ChannelUnsentQuotaShare(this::peerAddress);
        readDeadline =
                new RdmaReadTimeout(
                        channel.eventLoop(),
                        config::getReadTimeoutMillis,
                        queuePair,
                        sends,
                        this::stalled);
        exposures = new ChannelMemoryExposures(queuePair, memory, device.exactExposure());
        receives =
                new PostedReceives(
                        queuePair,
                        channel.poller().pool,
                        channel.poller().receives(),
                        device.receivesWithoutMemory(),
                        channel.receiveSize(),
                        config.getReceiveDepth());
    }

    // ------------------------------------------------------------------ beginning and end

    @Override
    void begin() {
        receives.replenish();
    }

    @Override
    byte[] privateData() {
        return config.getPrivateData();
    }

    @Override
    byte[] assumedPrivateData() {
        return config.getPeerPrivateData();
    }

    @Override
    void opened(byte[] peerData) {
        if (config.getMessageSizeEstimator() == DefaultMessageSizeEstimator.DEFAULT) {
            sends.unbuffered.open();
        }
        if (!config.isKeepAlive()) {
            return;
        }
        int seconds = config.getKeepAliveSeconds();
        if (channel.poller().context().capabilities().keepAlive()) {
            queuePair.keepAlive(seconds);
        } else {
            keepAlive =
                    channel.eventLoop()
                            .scheduleAtFixedRate(
                                    this::lookForPeer, seconds, seconds, TimeUnit.SECONDS);
        }
    }

    /**
     * Lets a device that expects acknowledgements check for the peer, by a Write of zero bytes, which accesses no
     * memory and needs no valid handle. Unnecessary while other work is in flight.
     */
    void lookForPeer() {
        ChannelOutboundBuffer outbound = channel.unsafe().outboundBuffer();
        if (outbound != null && hasNothingToSend(outbound)) {
            channel.unsafe()
                    .write(new RdmaWrite(Unpooled.EMPTY_BUFFER, 0, 0), channel.newPromise());
            channel.unsafe().flush();
        }
    }

    private boolean hasNothingToSend(ChannelOutboundBuffer outbound) {
        return outbound.totalPendingWriteBytes() == 0
                && sends.unbuffered.isEmpty()
                && sends.isEmpty();
    }

    /** {@code null} while the device does not report it. */
    private InetAddress peerAddress() {
        InetSocketAddress address = channel.remoteAddress();
        return address == null ? null : address.getAddress();
    }

    private void stalled(IOException cause) {
        channel.poller().count(RdmaCounter.READS_STALLED);
        channel.poller().log().warn(channel, "a connection is ended", cause);
        channel.abandon();
        channel.pipeline().fireExceptionCaught(cause);
        channel.closeAtOnce();
    }

    @Override
    boolean mustDrain() {
        return !sends.isEmpty();
    }

    @Override
    void outputEnds() {
        sends.hold();
        unsent.end();
    }

    @Override
    void freed() {
        if (keepAlive != null) {
            keepAlive.cancel(false);
        }
        readDeadline.end();
        incomplete.end();
        unsent.end();
        sends.clear();
        receives.clear();
        exposures.clear();
    }

    // ------------------------------------------------------------------ work

    /**
     * Takes a Send or an RDMA Write that bypasses the outbound buffer, unless anything about it or the channel is
     * unusual.
     *
     * @return whether the message and the promise were taken
     */
    boolean tryWrite(Object message, ChannelPromise promise) {
        if (!channel.mayDeliver() || channel.end.disconnected) {
            return false;
        }
        ByteBuf content;
        if (message instanceof ByteBuf send) {
            content = send;
        } else if (message instanceof RdmaWrite || message instanceof RdmaSendWithInvalidate) {
            content = ((ByteBufHolder) message).content();
        } else {
            return false;
        }
        int length = content.readableBytes();
        return length > 0
                && (length <= config.getMaxSendSize() || message instanceof RdmaWrite)
                && (memory.pooled(content, content.readerIndex(), length) != null
                        || memory.isWorthRegistering(content, length))
                && sends.unbuffered.tryAdd(message, length, config.highWaterMark(), promise);
    }

    UnbufferedMessages unbuffered() {
        return sends.unbuffered;
    }

    @Override
    void postUnbuffered(boolean isFlush, boolean mayPost) {
        if (isFlush) {
            sends.unbuffered.flush();
        }
        if (mayPost) {
            sends.postUnbuffered();
        } else {
            sends.unbuffered.spill();
        }
        if (sends.blocked || sends.unbuffered.pending >= ChannelUnsentQuotaShare.STEP) {
            checkUnsent();
        }
    }

    @Override
    void outputCloses() {
        sends.unbuffered.close();
    }

    @Override
    void post(ChannelOutboundBuffer flushed) throws Exception {
        sends.post(flushed);
        if (sends.hasReads()) {
            readDeadline.begin();
        }
        if (isHeld
                || sends.blocked
                || flushed.totalPendingWriteBytes() >= ChannelUnsentQuotaShare.STEP) {
            checkUnsent();
        }
    }

    /**
     * Holds inbound messages back, or goes on with them. A peer that sends calls and takes no replies finds no receive
     * then, and TCP holds it up; one within its credits always finds one, so that what is unsent here is sent.
     */
    void checkUnsent() {
        boolean wasHeld = isHeld;
        // Only flushed messages: the others wait for the user, whom no completion would wake.
        int messages = channel.isUnsentBounded ? sends.unsent() : 0;
        long bytes = messages > 0 ? sends.unsentBytes() : 0;
        unsent.set(bytes);
        isHeld = messages > mostUnsent || bytes > MOST_UNSENT_BYTES || unsent.isExceeded();
        if (wasHeld && !isHeld && channel.readPending) {
            channel.becomeReady();
        }
    }

    /** A message that arrives before the channel is active waits, because the size of receives may still change. */
    @Override
    ReceiveMemoryRange receiveMemory(long id, int length) {
        if (!channel.isActive() && !channel.isClosing()) {
            return null;
        }
        // A message of several segments: its length is not known yet, so the full receive size
        // counts.
        boolean isCounted = length >= receives.size && receives.size >= LEAST_COUNTED;
        return isCounted ? incompleteMemory() : receives.memory(length);
    }

    private ReceiveMemoryRange incompleteMemory() {
        int size = receives.size;
        // Sends complete in order: an earlier one is complete, though its completion is not polled
        // yet.
        sendIsComplete();
        try {
            incomplete.take(size);
        } catch (IllegalStateException e) {
            return null; // the message waits
        }
        ReceiveMemoryRange memory = null;
        try {
            memory = receives.memory(size);
        } finally {
            if (memory == null) {
                incomplete.give(size);
            }
        }
        if (memory != null) {
            incompleteSend = size;
            incompleteReceive = receives.lastWithMemory();
        }
        return memory;
    }

    private void sendIsComplete() {
        if (incompleteSend > 0) {
            incomplete.give(incompleteSend);
            incompleteSend = 0;
            incompleteReceive = -1;
        }
    }

    @Override
    void completed(long id, WorkStatus status, int length) {
        if ((id & SendQueuePoster.SEND) != 0) {
            sends.completed(id, status);
            channel.workDone(sends.blocked && status == WorkStatus.SUCCESS);
            if (isHeld || unsent.counted > 0) {
                checkUnsent();
            }
        } else if (status == WorkStatus.SUCCESS) {
            if (receives.completed == incompleteReceive) {
                sendIsComplete();
            }
            receives.complete(length);
            if (channel.readPending) {
                channel.becomeReady();
            }
        } else {
            receives.flushed();
        }
    }

    // ------------------------------------------------------------------ reading

    @Override
    boolean hasInbound() {
        return receives.hasMessage() && (!isHeld || channel.end.disconnected);
    }

    @Override
    boolean receivesFollow() {
        return receives.hasMessage();
    }

    @Override
    ByteBuf next(int wanted) {
        ByteBuf message = RegisteredBufferPool.watched(receives.poll());
        if (!channel.end.disconnected) {
            try {
                receives.replenish();
            } catch (Throwable t) {
                // A peer without its promised receives would stall: closes the channel.
                message.release();
                throw t;
            }
        }
        return message;
    }

    @Override
    void pass(ChannelPipeline pipeline, ByteBuf message) {
        ChannelHandlerContext context = channel.readerContext;
        if (context == null || pipeline.firstContext() != context) {
            pipeline.fireChannelRead(message);
            return;
        }
        try {
            channel.reader.channelRead(context, message);
        } catch (Throwable t) {
            pipeline.fireExceptionCaught(t);
        }
    }

    /** A message is never split: another one may always follow. */
    @Override
    int attempted(int wanted, int got) {
        return got;
    }
}
