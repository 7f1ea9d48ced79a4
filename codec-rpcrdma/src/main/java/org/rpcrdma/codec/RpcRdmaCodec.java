// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.access.CaptureHandlerInstallerAccess;

/**
 * Adds RPC-over-RDMA to the pipeline of an {@link RdmaChannel}: replaces itself by the handlers of the codec.
 *
 * <p>The handlers after it read and write whole RPC messages as {@link io.netty.buffer.ByteBuf}, XID first and without
 * a record mark; the message type says whether it is a call or a reply. A call is read at index 0. A call that failed
 * in the transport is read as {@link CallFailureMessage}; all calls in flight at {@code channelInactive} are lost.
 * {@link RpcRdmaCancel} cancels a call.
 *
 * <p><b>The handlers of a TCP pipeline</b> need no change: the codec removes the record mark (RFC 5531, 11) in front of
 * a whole message. For handlers that write a record in parts, or several at once, add a {@link RecordMarkingAdapter}.
 * Bytes that are neither a message nor a record fail their write and are logged, and the call whose XID follows the
 * mark is answered with SYSTEM_ERR.
 *
 * <p><b>Flushes</b> requested during a read batch, from {@code channelRead} to {@code channelReadComplete}, may be
 * deferred to the end of the batch, and written calls may be sent before they are flushed. A handler between the
 * channel and this codec must forward {@code channelReadComplete}.
 *
 * <p><b>Replies that come after the connection is lost</b> go to the {@link DuplicateRequestCache} if it covers the
 * call, so that the call is not executed a second time. Netty has emptied the pipeline by then, and a write to the
 * context of a removed handler reaches no handler: a handler that answers asynchronously must write to the channel, on
 * the channel's event loop:
 *
 * <pre>{@code
 * Channel channel = ctx.channel();
 * channel.eventLoop().execute(() -> channel.writeAndFlush(reply));
 * }</pre>
 *
 * <p>Such a write still fails, with {@link java.nio.channels.ClosedChannelException}. Covered are whole replies as
 * {@code ByteBuf} or {@link RpcMessage}, for {@link RpcRdmaConfig.Builder#lateReplyMillis} after the loss, while the
 * event loop runs. Not covered: {@code ctx.writeAndFlush} after {@code channelInactive}; a write from another thread at
 * the moment of the loss; replies that need an encoder of the pipeline, which was removed too. Such a call is executed
 * again if the client retransmits it after that time. A handler that was added with its own executor may never receive
 * a call that was queued there when the connection was lost, and such a call, too, is executed only after that time:
 * rather pass calls to other threads from the handler.
 *
 * <pre>{@code
 * config.applyTo(bootstrap).handler(new ChannelInitializer<RdmaChannel>() {
 *     protected void initChannel(RdmaChannel channel) {
 *         channel.pipeline().addLast(new RpcRdmaCodec(config), new MyRpcHandler());
 *     }
 * });
 * }</pre>
 */
public final class RpcRdmaCodec extends ChannelInboundHandlerAdapter {

    private final RpcRdmaConfig config;
    private final RpcRdmaMetrics metrics;

    /** {@code null} for none. */
    private final DuplicateRequestCache duplicates;

    /**
     * A codec for one channel, for both roles. Its counters are those of {@link RpcRdmaConnection} alone.
     *
     * @param config may be shared with other channels
     */
    public RpcRdmaCodec(RpcRdmaConfig config) {
        this(config, new RpcRdmaMetrics());
    }

    /**
     * A codec for one channel, for both roles.
     *
     * @param config may be shared with other channels
     * @param metrics adds up the counters of all channels whose codecs were given it
     */
    public RpcRdmaCodec(RpcRdmaConfig config, RpcRdmaMetrics metrics) {
        this.config = Objects.requireNonNull(config, "config");
        this.metrics = Objects.requireNonNull(metrics, "metrics");
        duplicates = null;
    }

    /**
     * A codec for one channel, for both roles, which executes no call twice that is retransmitted after the loss of a
     * connection.
     *
     * @param config may be shared with other channels
     * @param metrics adds up the counters of all channels whose codecs were given it
     * @param duplicates shared by all channels of a server, or of several
     */
    public RpcRdmaCodec(
            RpcRdmaConfig config, RpcRdmaMetrics metrics, DuplicateRequestCache duplicates) {
        this.config = Objects.requireNonNull(config, "config");
        this.metrics = Objects.requireNonNull(metrics, "metrics");
        this.duplicates = Objects.requireNonNull(duplicates, "duplicates");
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        if (!(ctx.channel() instanceof RdmaChannel channel)) {
            throw new IllegalStateException(
                    "RpcRdmaCodec is in the pipeline of "
                            + ctx.channel()
                            + " (expected: an RdmaChannel)");
        }
        if (ctx.executor() != channel.eventLoop()) {
            throw new IllegalStateException(
                    "RpcRdmaCodec was added with its own executor (expected: none, it runs on the"
                            + " event loop)");
        }
        RpcRdmaConnection connection = new RpcRdmaConnection(channel, config, metrics);
        ChannelPipeline pipeline = ctx.pipeline();
        addStages(pipeline, ctx.name(), stages(connection));
        if (HeaderTraceLogHandler.isOn()) {
            pipeline.addAfter(ctx.name(), null, new HeaderTraceLogHandler());
        }
        if (config.capture() != null) {
            connection
                    .link()
                    .exposures(
                            CaptureHandlerInstallerAccess.CAPTURE.addAfter(
                                    ctx,
                                    config.capture(),
                                    channel,
                                    config.maxSegmentsPerMessage()));
        }
        pipeline.remove(this);
    }

    /** The stages in order from the network to the user. */
    private List<DirectlyLinkedStageHandler> stages(RpcRdmaConnection connection) {
        boolean hasVersionTwo = config.versionTwo() != null;
        List<DirectlyLinkedStageHandler> stages = new ArrayList<>();
        stages.add(new FlushSchedulingHandler(connection));
        stages.add(new TransportHeaderHandler(connection));
        stages.add(new CreditHandler(connection));
        if (hasVersionTwo) {
            stages.add(new OptionalOperationDispatcher(connection));
        }
        stages.add(new LongMessageHandler(connection));
        stages.add(new DdpReductionHandler(connection, duplicates));
        if (hasVersionTwo && !connection.link().isServer) {
            stages.add(new VersionTwoProbeHandler(connection));
        }
        return stages;
    }

    /** Adds the stages in reverse order, each directly after the same handler. */
    private static void addStages(
            ChannelPipeline pipeline, String name, List<DirectlyLinkedStageHandler> stages) {
        // A context with an executor of its own need not ask the channel for it at each event.
        EventLoop loop = pipeline.channel().eventLoop();
        for (int i = stages.size() - 1; i >= 0; i--) {
            if (i > 0) {
                DirectlyLinkedStageHandler.join(stages.get(i - 1), stages.get(i));
            }
            pipeline.addAfter(loop, name, null, stages.get(i));
        }
    }
}
