// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.ReceiveMemory;
import org.rpcrdma.verbs.WorkStatus;

/** Messages: one for each Send, in the receive buffer itself, and Writes and Reads between them. */
final class MessageChannelProtocol extends ChannelProtocol<RdmaChannel> {

    /** A message above may have many segments, each late: what it takes counts as incomplete until it is there. */
    private static final int LEAST_COUNTED = 16 << 10;

    private final RdmaChannelConfig config;
    private final QueuePair queuePair;
    private final SendPoster sends;

    /** Of a device that has none itself; {@code null} if there is none. */
    private Future<?> keepAlive;

    /** What the peer has begun. */
    final IncompleteBytes incomplete;

    /** Of the Send that is incomplete; a peer has one at a time. */
    private int incompleteSend;

    /** The receive that it goes into. */
    private long incompleteId = -1;

    /** For peers that do not answer a Read. */
    final ReadDeadline readDeadline;

    /** What was promised to the peer. */
    final PostedReceives receives;

    /** What the peer may reach. */
    final PeerAccessibleMemory exposures;

    /** @param memory what can be sent as it is */
    MessageChannelProtocol(RdmaChannel channel, MessageRegistration memory, QueuePair queuePair) {
        super(channel);
        this.queuePair = queuePair;
        config = channel.config();
        DeviceCapabilities device = channel.loop().context().capabilities();
        sends = new SendPoster(queuePair, memory, config.getSendDepth());
        incomplete =
                new IncompleteBytes(channel::remoteAddress, config::getIncompleteBytesPerAddress);
        readDeadline =
                new ReadDeadline(
                        channel.eventLoop(),
                        config::getReadTimeoutMillis,
                        queuePair,
                        sends,
                        this::stalled);
        exposures = new PeerAccessibleMemory(queuePair, memory, device.exactExposure());
        receives =
                new PostedReceives(
                        queuePair,
                        channel.loop().pool(),
                        channel.loop().receives(),
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
        if (!config.isKeepAlive()) {
            return;
        }
        int seconds = config.getKeepAliveSeconds();
        if (channel.loop().context().capabilities().keepAlive()) {
            queuePair.keepAlive(seconds);
        } else {
            keepAlive =
                    channel.eventLoop()
                            .scheduleAtFixedRate(
                                    this::lookForPeer, seconds, seconds, TimeUnit.SECONDS);
        }
    }

    /**
     * Has a device that expects an answer find out whether there is a peer: a Write of no bytes touches no memory, and
     * no handle of it is looked at. Whatever is under way does the same.
     */
    void lookForPeer() {
        ChannelOutboundBuffer outbound = channel.unsafe().outboundBuffer();
        if (outbound != null && outbound.totalPendingWriteBytes() == 0 && sends.isEmpty()) {
            channel.unsafe()
                    .write(new RdmaWrite(Unpooled.EMPTY_BUFFER, 0, 0), channel.newPromise());
            channel.unsafe().flush();
        }
    }

    private void stalled(IOException cause) {
        channel.loop().count(RdmaCounter.READS_STALLED);
        channel.loop().log().warn(channel, "a connection is ended", cause);
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
    }

    @Override
    void freed() {
        if (keepAlive != null) {
            keepAlive.cancel(false);
        }
        readDeadline.end();
        incomplete.end();
        sends.clear();
        receives.clear();
        exposures.clear();
    }

    // ------------------------------------------------------------------ work

    @Override
    void post(ChannelOutboundBuffer flushed) throws Exception {
        sends.post(flushed);
        if (sends.hasReads()) {
            readDeadline.begin();
        }
    }

    /** A peer that is faster than the news of its connection waits: its receives may yet change their size. */
    @Override
    ReceiveMemory receiveMemory(long id, int length) {
        if (!channel.isActive() && !channel.isClosing()) {
            return null;
        }
        // Of several segments: the whole receive is taken before it is known how long the message
        // is.
        boolean isCounted = length >= receives.size() && receives.size() >= LEAST_COUNTED;
        return isCounted ? incompleteMemory(id) : receives.memory(id, length);
    }

    private ReceiveMemory incompleteMemory(long id) {
        int size = receives.size();
        // Sends complete in order: an earlier one is complete, though its completion is not told
        // yet.
        sendIsComplete();
        try {
            incomplete.take(size);
        } catch (IllegalStateException e) {
            return null; // the message waits
        }
        ReceiveMemory memory = receives.memory(id, size);
        if (memory == null) {
            incomplete.give(size);
        } else {
            incompleteSend = size;
            incompleteId = id;
        }
        return memory;
    }

    private void sendIsComplete() {
        if (incompleteSend > 0) {
            incomplete.give(incompleteSend);
            incompleteSend = 0;
            incompleteId = -1;
        }
    }

    @Override
    void completed(long id, WorkStatus status, int length) {
        if (SendPoster.isSend(id)) {
            sends.completed(id, status);
            channel.workDone(sends.isBlocked() && status == WorkStatus.SUCCESS);
        } else if (status == WorkStatus.SUCCESS) {
            if (id == incompleteId) {
                sendIsComplete();
            }
            receives.complete(length);
            if (channel.isReadPending()) {
                channel.becomeReady();
            }
        } else {
            receives.flushed();
        }
    }

    // ------------------------------------------------------------------ reading

    @Override
    boolean hasInbound() {
        return receives.hasMessage();
    }

    @Override
    ByteBuf next(int wanted) {
        ByteBuf message = RegisteredBufferPool.watched(receives.poll());
        if (!channel.isDisconnected()) {
            try {
                receives.replenish();
            } catch (RuntimeException e) {
                // Without the receives that it was promised a peer cannot go on: the channel
                // closes.
                message.release();
                throw e;
            }
        }
        return message;
    }

    /** A message is never cut: there may always be another one. */
    @Override
    int attempted(int wanted, int got) {
        return got;
    }
}
