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
import org.rpcrdma.stream.StreamPrivateData;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;

/**
 * Server channel for the rsocket protocol: passes each connection request to the pipeline as a {@link
 * RdmaStreamChannel}. Rejects peers of another protocol without notice to the pipeline, with the reason as text if the
 * device carries it.
 *
 * <p>A peer's connect completes when this channel reads, which it does unless {@code AUTO_READ} is off.
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

    /** An unbound channel, created by bootstraps. */
    public RdmaServerStreamChannel() {}

    @Override
    protected void doBind(SocketAddress address) throws Exception {
        SendOrImmediateStreamPoster.checkDevice(poller().context().capabilities(), true);
        super.doBind(address);
    }

    @Override
    RdmaStreamChannel child(ConnectionRequest request) {
        try {
            StreamPrivateData.decode(
                    request.privateData(),
                    SendOrImmediateStreamPoster.allowsBigEndian(poller().context().capabilities()));
            return new RdmaStreamChannel(this, request);
        } catch (StreamProtocolException e) {
            request.reject(inWords(e));
            warn(request, e);
            return null;
        }
    }

    /** Reason as text: the rsocket protocol defines no content for the private data of a rejection. */
    private byte[] inWords(StreamProtocolException cause) {
        DeviceCapabilities device = poller().context().capabilities();
        byte[] text = cause.getMessage().getBytes(StandardCharsets.US_ASCII);
        return device.rejectWithData()
                ? Arrays.copyOf(text, Math.min(text.length, device.maxPrivateData()))
                : NO_DATA;
    }

    /** Logs a rejection, at most once per second because any peer can cause it. */
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
