// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.ReceiveMemory;
import org.rpcrdma.verbs.WorkStatus;

/** Messages: one for each Send, in the receive buffer itself, and Writes and Reads between them. */
final class MessageTraffic extends Traffic<RdmaChannel> {

    private final RdmaChannelConfig config;
    private final SendPoster sends;

    /** What was promised to the peer. */
    final ReceiveRing receives;

    /** What the peer may reach. */
    final Exposures exposures;

    /** @param memory what can be sent as it is */
    MessageTraffic(RdmaChannel channel, MessageMemory memory, QueuePair queuePair) {
        super(channel);
        config = channel.config();
        DeviceCapabilities device = channel.loop().context().capabilities();
        sends = new SendPoster(queuePair, memory, config.getSendDepth());
        exposures = new Exposures(queuePair, memory, device.exactExposure());
        receives =
                new ReceiveRing(
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
    boolean mustDrain() {
        return !sends.isEmpty();
    }

    @Override
    void outputEnds() {
        sends.hold();
    }

    @Override
    void freed() {
        sends.clear();
        receives.clear();
        exposures.clear();
    }

    // ------------------------------------------------------------------ work

    @Override
    void post(ChannelOutboundBuffer flushed) throws Exception {
        sends.post(flushed);
    }

    /** A peer that is faster than the news of its connection waits: its receives may yet change their size. */
    @Override
    ReceiveMemory receiveMemory(long id, int length) {
        return channel.isActive() || channel.isClosing() ? receives.memory(id, length) : null;
    }

    @Override
    void completed(long id, WorkStatus status, int length) {
        if (SendPoster.isSend(id)) {
            sends.completed(id, status);
            channel.workDone(sends.isBlocked() && status == WorkStatus.SUCCESS);
        } else if (status == WorkStatus.SUCCESS) {
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
