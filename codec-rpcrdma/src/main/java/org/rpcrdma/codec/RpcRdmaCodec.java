// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.capture.InternalCapture;

/**
 * Puts RPC-over-RDMA into the pipeline of an {@link RdmaChannel}: replaces itself by the handlers for it.
 *
 * <p>The handlers after it read and write whole RPC messages as {@link io.netty.buffer.ByteBuf}, XID first and without
 * a record mark; the message type says whether it is a call or a reply. A call is read at index 0. A call that the
 * transport has failed is read as {@link RpcRdmaFailure}; all calls that are out when {@code channelInactive} is seen
 * are lost. {@link RpcRdmaCancel} gives up a call.
 *
 * <p><b>The handlers of a TCP pipeline</b> stay as they are: a record mark (RFC 5531, 11) in front of one whole message
 * that they write is taken off. For those that write a record in parts, or several at once, there is
 * {@link RecordMarkingAdapter}. Bytes that are neither a message nor a record fail their write, a line in the log says
 * so, and the call whose XID follows the mark is answered with SYSTEM_ERR.
 *
 * <p><b>Flushes</b> that are asked for while a batch of messages is read, from {@code channelRead} to {@code
 * channelReadComplete}, may wait for the end of the batch, and calls that were only written may go out before they are
 * flushed. A handler that stands between the channel and this one has to pass {@code channelReadComplete} on.
 *
 * <p><b>Replies that come after the connection is lost</b> go to the {@link DuplicateRequestCache}, when there is one
 * that covers the call, so that the call is not executed a second time. Netty has emptied the pipeline by then, and
 * what is written to the context of a handler that was removed goes past everything: a handler that answers from
 * another thread, or later than it was called, writes to the channel, on the channel's event loop:
 *
 * <pre>{@code
 * Channel channel = ctx.channel();
 * channel.eventLoop().execute(() -> channel.writeAndFlush(reply));
 * }</pre>
 *
 * <p>Such a write still fails, with {@link java.nio.channels.ClosedChannelException}. Covered are whole replies as
 * {@code ByteBuf} or {@link RpcMessage}, for {@link RpcRdmaConfig.Builder#lateReplyMillis} after the loss, while the
 * event loop runs. Not covered: {@code ctx.writeAndFlush} after {@code channelInactive}; a write that is begun on
 * another thread at the moment of the loss; replies that an encoder of the pipeline was to make, because it is gone
 * too. Such calls are executed again when the client sends them again, once the time is over. A handler that was added
 * with an executor of its own may never get a call that was on its way there when the connection was lost, and the time
 * has to be over before such a call is executed: a handler does better to hand its calls to other threads itself.
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

    /**
     * A codec for one channel, for both roles.
     *
     * @param config may be shared with other channels
     */
    public RpcRdmaCodec(RpcRdmaConfig config) {
        this.config = Objects.requireNonNull(config, "config");
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
        RpcRdmaConnection connection = new RpcRdmaConnection(channel, config);
        ChannelPipeline pipeline = ctx.pipeline();
        addStages(pipeline, ctx.name(), stages(connection));
        if (HeaderTraceLogHandler.isOn()) {
            pipeline.addAfter(ctx.name(), null, new HeaderTraceLogHandler());
        }
        if (config.capture() != null) {
            connection
                    .link()
                    .exposures(
                            InternalCapture.addAfter(
                                    ctx,
                                    config.capture(),
                                    channel,
                                    config.maxSegmentsPerMessage()));
        }
        pipeline.remove(this);
    }

    /** From the network to the user. */
    private List<CodecStageHandler> stages(RpcRdmaConnection connection) {
        boolean hasVersionTwo = config.versionTwo() != null;
        List<CodecStageHandler> stages = new ArrayList<>();
        stages.add(new FlushConsolidationStage(connection));
        stages.add(new RpcRdmaHeaderCodec(connection));
        stages.add(new CreditHandler(connection));
        if (hasVersionTwo) {
            stages.add(new OptionalOperations(connection));
        }
        stages.add(new LongMessageHandler(connection));
        stages.add(new ChunkReducer(connection));
        if (hasVersionTwo && !connection.link().isServer()) {
            stages.add(new VersionTwoProbeHandler(connection));
        }
        stages.add(new RecordMarkRemover(connection));
        return stages;
    }

    /** The last one comes first: each goes right behind that handler. */
    private static void addStages(
            ChannelPipeline pipeline, String name, List<CodecStageHandler> stages) {
        for (int i = stages.size() - 1; i >= 0; i--) {
            if (i > 0) {
                CodecStageHandler.join(stages.get(i - 1), stages.get(i));
            }
            pipeline.addAfter(name, null, stages.get(i));
        }
    }
}
