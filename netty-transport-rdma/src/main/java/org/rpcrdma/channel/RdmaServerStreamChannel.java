// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.socket.ServerSocketChannel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.Experimental;
import org.rpcrdma.stream.ConnectionData;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;

/**
 * Takes connection requests of the rsocket protocol and hands each to the pipeline as a {@link RdmaStreamChannel}. A
 * peer that speaks something else is rejected, with the reason in words as far as the device carries it, and the
 * pipeline does not hear of it.
 *
 * <p>A peer's connect completes when this channel reads (which it does by itself unless {@code AUTO_READ} is off).
 */
@Experimental
public final class RdmaServerStreamChannel extends AbstractRdmaServerChannel
        implements ServerSocketChannel {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(RdmaServerStreamChannel.class);

    private static final byte[] NO_DATA = {};

    private static final long WARN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private long rejected;
    private long warnedAt = System.nanoTime() - WARN_NANOS;

    /** A channel that is not bound yet; bootstraps make it. */
    public RdmaServerStreamChannel() {}

    @Override
    protected void doBind(SocketAddress address) throws Exception {
        StreamMessagePoster.checkDevice(loop().context().capabilities(), true);
        super.doBind(address);
    }

    @Override
    RdmaStreamChannel child(ConnectionRequest request) {
        try {
            ConnectionData.decode(
                    request.privateData(),
                    StreamMessagePoster.allowsBigEndian(loop().context().capabilities()));
            return new RdmaStreamChannel(this, request);
        } catch (StreamProtocolException e) {
            request.reject(inWords(e));
            warn(request, e);
            return null;
        }
    }

    /** The rsocket protocol has no place for a reason, and no meaning for data of a rejection. */
    private byte[] inWords(StreamProtocolException cause) {
        DeviceCapabilities device = loop().context().capabilities();
        byte[] text = cause.getMessage().getBytes(StandardCharsets.US_ASCII);
        return device.rejectWithData()
                ? Arrays.copyOf(text, Math.min(text.length, device.maxPrivateData()))
                : NO_DATA;
    }

    /** At most once in a second: any peer can cause it. */
    private void warn(ConnectionRequest request, StreamProtocolException cause) {
        rejected++;
        long now = System.nanoTime();
        if (now - warnedAt >= WARN_NANOS) {
            warnedAt = now;
            logger.warn(
                    "Connection of {} rejected ({} so far): {}",
                    request.remoteAddress(),
                    rejected,
                    cause.getMessage());
        }
    }
}
