// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.access.CodecAccess;
import org.rpcrdma.codec.internal.XidHashMap;

/** The calls on one byte stream: their XIDs, their deadlines and their end. All but the intake: event loop only. */
final class StreamCallController implements CallHandoverQueue.Starter {

    private static final long DEFAULT_TIMEOUT_MILLIS = 60_000;

    private final Channel channel;
    private final DefaultCallSettings settings =
            new DefaultCallSettings(
                    RpcRdmaConfig.defaults(),
                    new RpcRdmaMetrics(),
                    RequesterClockAndTimers.SYSTEM,
                    DEFAULT_TIMEOUT_MILLIS,
                    0,
                    Integer.MAX_VALUE,
                    false);
    private final MovableRequesterEventLoop loop;
    private final CallHandoverQueue intake;
    private final EarliestDeadlineTimer timer;
    private final XidHashMap<CallWithReplyFuture<?>> calls = new XidHashMap<>();
    private int nextXid = ThreadLocalRandom.current().nextInt();

    StreamCallController(Channel channel) {
        this.channel = channel;
        loop = new MovableRequesterEventLoop(channel.eventLoop(), this::terminated);
        intake = new CallHandoverQueue(this, settings, loop);
        timer = new EarliestDeadlineTimer(settings.clock(), loop, () -> loop.event(this::expire));
    }

    CallHandoverQueue intake() {
        return intake;
    }

    @Override
    public EventLoop loop() {
        return loop.current();
    }

    @Override
    public void cancelled(CallWithReplyFuture<?> call) {
        loop.tryExecute(
                () -> {
                    if (calls.get(call.xid) == call) {
                        remove(call);
                    }
                });
    }

    @Override
    public void writeFailed(CallWithReplyFuture<?> call, Throwable cause) {
        if (calls.get(call.xid) == call) {
            loop.event(() -> fail(call, lost("the call could not be written", true, cause)));
        }
    }

    @Override
    public void start(CallWithReplyFuture<?> call) {
        while (calls.containsKey(nextXid)) {
            nextXid++;
        }
        call.assign(nextXid++);
        calls.put(call.xid, call);
        if (call.isDone()) {
            remove(call);
            return;
        }
        if (!channel.isActive()) {
            fail(call, lost("the connection is closed", false, null));
            return;
        }
        Exception problem = call.prepare();
        if (problem != null) {
            fail(call, problem);
            return;
        }
        timer.arm(call.deadline);
        call.writeTo(channel);
    }

    @Override
    public void flush() {
        channel.flush();
    }

    /**
     * Takes a reply if a call waits for it.
     *
     * @return whether it was taken; otherwise the caller still owns it
     */
    boolean tryReceive(ByteBuf reply) {
        CallWithReplyFuture<?> call = calls.get(reply.getInt(reply.readerIndex()));
        if (call == null) {
            return false;
        }
        loop.outcomes().begin();
        try {
            boolean isPlain = call.message() instanceof ByteBuf;
            ReferenceCounted received = isPlain ? reply : new RpcMessage(reply);
            remove(call);
            call.answeredBy(received);
            loop.outcomes().add(call);
        } finally {
            loop.outcomes().end();
        }
        return true;
    }

    /** The connection has ended. */
    void lost(Throwable cause) {
        String why = "the connection was lost" + (cause == null ? "" : ": " + cause.getMessage());
        loop.event(() -> failAll(why, cause));
        timer.stop();
        loop.removeListener();
    }

    /** On any thread, and on several: the event loop has terminated. */
    private synchronized void terminated() {
        loop.outcomes().begin();
        try {
            failAll("the event loop has ended", null);
            intake.startSubmitted();
        } finally {
            loop.outcomes().end();
        }
    }

    private void failAll(String why, Throwable cause) {
        for (CallWithReplyFuture<?> call : all()) {
            fail(call, lost(why, true, cause));
        }
    }

    private static Exception lost(String why, boolean isSent, Throwable cause) {
        return CodecAccess.CODEC.connectionLost(why, isSent, !isSent, cause);
    }

    private void expire() {
        long now = settings.clock().nanoTime();
        CallWithReplyFuture<?> first = null;
        for (CallWithReplyFuture<?> call : all()) {
            if (call.deadline - now <= 0) {
                long millis = settings.timeoutMillis(call.options);
                fail(call, CodecAccess.CODEC.timeout(millis, call.transmissions, 0, null));
            } else if (first == null || call.deadline - first.deadline < 0) {
                first = call;
            }
        }
        if (first != null) {
            timer.arm(first.deadline);
        }
    }

    private List<CallWithReplyFuture<?>> all() {
        return new ArrayList<>(calls.values());
    }

    private void fail(CallWithReplyFuture<?> call, Throwable cause) {
        remove(call);
        call.failedBy(cause);
        loop.outcomes().add(call);
    }

    private void remove(CallWithReplyFuture<?> call) {
        calls.remove(call.xid);
        call.releaseMessage();
        intake.ended();
    }
}
