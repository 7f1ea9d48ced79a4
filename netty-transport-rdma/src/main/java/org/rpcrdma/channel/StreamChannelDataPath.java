// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.util.internal.EmptyArrays;
import java.io.IOException;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.PeerReceiveBufferTable;
import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.stream.StreamHalfCloseState;
import org.rpcrdma.stream.StreamPrivateData;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/** Data path of a stream channel: sends and receives rsocket messages, and tracks which directions have ended. */
final class StreamChannelDataPath extends AbstractChannelDataPath<RdmaStreamChannel> {

    private final RdmaStreamChannelConfig config;
    private final QueuePair queuePair;
    private final DeviceCapabilities device;
    private final StreamCounterUpdater meter;
    private final StreamHalfCloseState ends = new StreamHalfCloseState();

    private ChannelMemoryExposures exposures;
    private SendOrImmediateStreamPoster wire;
    private StreamMessageReceiveRing receives;
    private PublishedStreamReceiveBuffers input;
    private StreamOutput output;

    /** Memory and key of the target SGL. */
    private RegisteredByteBuf table;

    private int tableKey;
    private StreamKeepAliveAndRetryTimers timers;

    /** Whether room for waiting flushed bytes has become available. */
    private boolean hasNewRoom;

    /** Whether the pipeline was notified of the end of input. */
    private boolean inputEndTold;

    StreamChannelDataPath(RdmaStreamChannel channel, QueuePair queuePair) {
        super(channel);
        this.config = channel.config();
        this.queuePair = queuePair;
        this.device = channel.poller().context().capabilities();
        this.meter = new StreamCounterUpdater(channel.poller());
    }

    // ------------------------------------------------------------------ beginning

    @Override
    void begin() {
        SendOrImmediateStreamPoster.checkDevice(device, channel.parent() != null);
        RegisteredBufferPool pool = channel.poller().pool;
        ZeroCopyRegistrar memory = new ZeroCopyRegistrar(pool, device.cheapRegistration());
        exposures = new ChannelMemoryExposures(queuePair, memory, device.exactExposure());
        table = pool.take(PeerReceiveBufferTable.BYTES);
        tableKey =
                exposures.expose(
                        table.buffer(),
                        0,
                        PeerReceiveBufferTable.BYTES,
                        RemoteAccess.WRITE,
                        RegistrationPolicy.EXACT);
        wire = SendOrImmediateStreamPoster.of(device, queuePair);
        output =
                new StreamOutput(
                        queuePair,
                        wire,
                        memory,
                        pool,
                        config.getSendDepth(),
                        config.getSendBufferSize(),
                        table.buffer());
        input =
                new PublishedStreamReceiveBuffers(
                        exposures,
                        StreamReceiveMemory.of(
                                device, pool, exposures, config.getReceiveBufferSize() / 2),
                        config.getReceiveDepth());
        receives =
                new StreamMessageReceiveRing(
                        queuePair,
                        pool,
                        device.receivesWithoutMemory(),
                        wire.receivedBytes(),
                        config.getReceiveDepth());
    }

    @Override
    byte[] privateData() {
        return new StreamPrivateData(
                        config.getReceiveDepth(),
                        exposures.offset(tableKey),
                        tableKey,
                        PeerReceiveBufferTable.ENTRIES,
                        input.entry())
                .encode();
    }

    @Override
    byte[] assumedPrivateData() {
        return EmptyArrays.EMPTY_BYTES;
    }

    @Override
    void opened(byte[] peerData) throws IOException {
        StreamPrivateData peer =
                StreamPrivateData.decode(
                        peerData, SendOrImmediateStreamPoster.allowsBigEndian(device));
        output.open(peer);
        input.open(peer);
        meter.opened(output);
        timers = new StreamKeepAliveAndRetryTimers(channel.eventLoop(), this::tryForMemory);
        postReplenishment();
        output.doorbell();
        if (config.isKeepAlive()) {
            keepAlive(config.getKeepAliveSeconds());
        }
    }

    /** As {@link MessageChannelDataPath#opened}: over TCP a Write of zero bytes would not notice a silent peer. */
    private void keepAlive(int seconds) {
        if (device.keepAlive()) {
            queuePair.keepAlive(seconds);
        } else {
            timers.keepAlive(output::keepAlive, seconds);
        }
    }

    // ------------------------------------------------------------------ the end

    /** Discards all further data of the peer. */
    void discardInput() {
        input.discard();
    }

    /** Notifies the peer that no data follow the posted ones. */
    void endOutput() {
        if (!ends.isOutputOver()) {
            ends.shutdownSent();
            meter.endsChanged(ends);
            output.end(RsocketMessage.SHUTDOWN);
        }
        outputEnds();
    }

    /** Flushed data do not wait for the peer any more. */
    @Override
    void outputEnds() {
        output.stopWaiting();
        meter.outputChanged(output);
    }

    @Override
    boolean mustDrain() {
        return !channel.isDisconnected() && config.getSoLinger() != 0;
    }

    /** Sends DISCONNECT after all posted data; discards all further data of the peer. */
    @Override
    void closing() {
        if (!mustDrain()) {
            return;
        }
        input.discard();
        if (ends.owesDisconnect()) {
            // Over iWARP it may have to wait for the initiator's first message (RFC 5044, 7.1.2);
            // the end of the connection must not overtake it.
            ends.disconnectSent();
            output.end(RsocketMessage.DISCONNECT);
        } else {
            queuePair.disconnect();
        }
        outputEnds();
    }

    @Override
    Throwable endOfConnection(Throwable cause) {
        return ends.isOrderly(true)
                ? null
                : new IOException(
                        "connection reset by peer: it ended without a DISCONNECT message", cause);
    }

    private void fail(Throwable cause) {
        if (channel.isClosing()) {
            channel.cut();
        } else {
            channel.abandon();
            channel.pipeline().fireExceptionCaught(cause);
            channel.closeAtOnce();
        }
    }

    @Override
    void freed() {
        meter.ended(ends, channel.isDisconnected());
        if (timers != null) {
            timers.cancel();
        }
        if (receives != null) {
            receives.release();
        }
        if (input != null) {
            input.release();
        }
        if (output != null) {
            output.release();
        }
        if (exposures != null) {
            exposures.clear();
        }
        if (table != null) {
            table.buffer().release();
        }
    }

    // ------------------------------------------------------------------ work

    @Override
    void post(ChannelOutboundBuffer flushed) throws Exception {
        hasNewRoom = false;
        try {
            output.post(flushed);
        } finally {
            meter.outputChanged(output);
            if (output.lacksMemory() && channel.isOpen()) {
                timers.retryLater();
            }
        }
        // A region may have ended without a byte, so that no completion follows.
        channel.outputMayEnd();
    }

    @Override
    ReceiveMemoryRange receiveMemory(long id, int length) {
        return receives.arriving();
    }

    @Override
    ReceiveMemoryRange writeMemory(int key, int start, int length) {
        return input.forWrite(key, start, length);
    }

    @Override
    long unannounced() {
        return input.unannounced();
    }

    @Override
    void completed(long id, WorkStatus status, int length) {
        if (status != WorkStatus.SUCCESS) {
            return; // the connection has ended, which the device reports next
        }
        try {
            if (PostedStreamWrites.isReceive(id)) {
                received(receives.take(length));
            } else {
                output.completed(id);
                if (!channel.isOpen()) {
                    return; // the listener of a write has closed the channel
                }
                if (output.isOver()) {
                    queuePair.disconnect();
                }
                channel.workDone(false);
                if (!channel.isOpen()) {
                    return; // the end of the wait has closed the channel
                }
                channel.outputMayEnd();
                roomHasGrown();
            }
        } catch (StreamProtocolException | RuntimeException | OutOfMemoryError e) {
            fail(e);
            return;
        }
        becomeReadyToReplenish();
    }

    /** Immediate data as a message, which announces the written bytes. A protocol error if messages are Sends. */
    @Override
    boolean acceptWriteWithImmediate(long id, int length, int immediate) {
        if (wire.receivedBytes() > 0) {
            return false;
        }
        try {
            receives.postAgain();
            received(immediate);
        } catch (StreamProtocolException | RuntimeException | OutOfMemoryError e) {
            fail(e);
            return true;
        }
        becomeReadyToReplenish();
        return true;
    }

    /** Schedules posting of waiting data, once for all completions and messages of this round of the event loop. */
    private void roomHasGrown() {
        if (output.isBlocked() && channel.mayDeliver()) {
            hasNewRoom = true;
            channel.becomeReady();
        }
    }

    private void becomeReadyToReplenish() {
        if (channel.isActive() && input.wantsReplenishing()) {
            channel.becomeReady();
        }
    }

    private void received(int message) throws StreamProtocolException {
        switch (RsocketMessage.kind(message)) {
            case DATA -> dataReceived(RsocketMessage.value(message));
            case SGL -> {
                output.update(RsocketMessage.value(message));
                meter.outputChanged(output);
                roomHasGrown();
            }
            case IOMAP -> input.creditUsed();
            case SHUTDOWN -> {
                ends.shutdownReceived();
                meter.endsChanged(ends);
                channel.becomeReady();
            }
            case DISCONNECT -> {
                ends.disconnectReceived();
                meter.endsChanged(ends);
                disconnected();
            }
            case RESERVED ->
                    throw new StreamProtocolException(
                            "The peer sent a message of a reserved kind: "
                                    + RsocketMessage.toString(message));
            default -> {} // reserved for later versions
        }
    }

    private void dataReceived(int bytes) throws StreamProtocolException {
        ends.dataReceived();
        input.creditUsed();
        input.received(bytes);
        meter.received(bytes);
        if (channel.isInputShutdown() || channel.isClosing()) {
            input.discard();
        } else if (channel.readPending) {
            channel.becomeReady();
        } else {
            input.rest();
        }
    }

    /** Both directions have ended: delivers received data, and fails unsent data. */
    private void disconnected() {
        if (!channel.isClosing()) {
            queuePair.disconnect();
            channel.endOutputAtOnce();
            channel.becomeReady();
        }
    }

    /**
     * Publishes buffers and grants credits, unless the peer has ended its direction: it could not use them, and may be
     * closing the connection.
     */
    private void postReplenishment() {
        if (!ends.isInputOver() && !channel.isDisconnected()) {
            input.replenish(output);
            if (input.lacksMemory()) {
                timers.retryLater();
            }
        }
    }

    /** Retries operations that lacked memory. */
    private void tryForMemory() {
        roomHasGrown();
        if (channel.isActive() && input.lacksMemory()) {
            channel.becomeReady();
        }
    }

    // ------------------------------------------------------------------ reading

    @Override
    boolean hasInbound() {
        return !channel.isClosing() && !channel.isInputShutdown() && input.isReadable();
    }

    @Override
    ByteBuf next(int wanted) {
        return input.read(wanted, config.getAllocator());
    }

    /** A read of fewer bytes than wanted ends Netty's read loop; a read up to the end of a piece does not always. */
    @Override
    int attempted(int wanted, int got) {
        boolean isAlone = channel.poller().isBusyWithOnly(channel);
        return input.continuesRead(isAlone) ? got : Math.max(wanted, got);
    }

    /** Posts buffers and credits before the handler's flush, so that they share a doorbell with its answer. */
    @Override
    void readCompletes() {
        postReplenishment();
    }

    @Override
    void delivered() {
        input.rest();
        postReplenishment();
        if (hasNewRoom) {
            channel.flushMore();
            if (!channel.mayDeliver()) {
                return; // the listener of a write has closed the channel
            }
        }
        output.doorbell();
        boolean isDelivered = channel.isInputShutdown() || !input.isReadable();
        if (ends.isInputOver() && !inputEndTold && isDelivered) {
            tellInputEnd();
        }
    }

    /** Notifies the pipeline of the end of input after all data were delivered, whether it reads or not. */
    private void tellInputEnd() {
        inputEndTold = true;
        if (!channel.isInputShutdown()) {
            if (!config.isAllowHalfClosure()) {
                channel.unsafe().close(channel.voidPromise());
                return;
            }
            channel.inputEnded();
            channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
        }
        channel.pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
        if (ends.isDisconnected()) {
            channel.unsafe().close(channel.voidPromise());
        }
    }
}
