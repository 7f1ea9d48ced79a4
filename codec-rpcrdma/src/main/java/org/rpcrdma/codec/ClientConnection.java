// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.FutureListener;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.ScheduledFuture;
import io.netty.util.internal.PlatformDependent;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Function;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaException;
import org.rpcrdma.codec.binding.MalformedXdrException;
import org.rpcrdma.codec.binding.XdrCursor;

/**
 * One of the connections of an {@link RpcRdmaClient}: one channel at a time, made when a call needs it, and the calls that
 * wait for their replies. One event loop for all of its channels; only {@link #submit}, {@link #cancelled} and {@link
 * #close} are for other threads.
 */
final class ClientConnection {

    private enum State {
        IDLE,
        CONNECTING,
        ACTIVE,
        CLOSED
    }

    /** The most doublings of anything. */
    private static final int MAX_DOUBLINGS = 16;

    private static final AtomicIntegerFieldUpdater<ClientConnection> OUTSTANDING =
            AtomicIntegerFieldUpdater.newUpdater(ClientConnection.class, "outstanding");

    private final RpcRdmaClient.Settings settings;
    private final EventLoop loop;
    private final Bootstrap bootstrap;
    private final Promise<Void> closed = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);

    private final Queue<ClientCall<?>> submitted = PlatformDependent.newMpscQueue();
    private final AtomicBoolean isDraining = new AtomicBoolean();
    private final FutureListener<Object> atTermination = future -> terminated();
    private volatile int outstanding;
    private volatile RpcRdmaConnection current;

    // ---- event loop only

    private final IntObjectHashMap<ClientCall<?>> pending = new IntObjectHashMap<>();
    private final RpcCallHeader rpc = new RpcCallHeader();
    private final XdrCursor arguments = new XdrCursor();
    private final int xidStep;
    private int nextXid;
    private long nextSerial;

    private State state = State.IDLE;
    private Channel channel;
    private Channel connecting;
    private Throwable lastFailure;

    /** Those who want to know whether there is a connection, and wait for it. */
    private final List<Promise<Void>> connectPromises = new ArrayList<>(1);

    /** The next attempt to connect is not before {@code backOff} after the last one. */
    private long lastAttempt;

    private long backOff;

    /** When a fresh connection has to have answered its first call; without meaning once it has answered any. */
    private long firstDeadline;

    private boolean hasFirstDeadline;
    private int silentStarts;

    private ScheduledFuture<?> timer;
    private long timerDeadline;

    /**
     * A connection that does nothing yet.
     *
     * @param number of this connection among {@code 1 << log2}: no two use the same XID
     */
    ClientConnection(RpcRdmaClient.Settings settings, EventLoop loop, int number, int log2) {
        this.settings = settings;
        this.loop = loop;
        xidStep = 1 << log2;
        nextXid = (ThreadLocalRandom.current().nextInt() << log2) | number;
        lastAttempt = System.nanoTime();
        RpcRdmaConfig config = settings.config();
        bootstrap =
                config.applyTo(new Bootstrap())
                        .group(loop)
                        .channel(RdmaChannel.class)
                        .option(
                                ChannelOption.CONNECT_TIMEOUT_MILLIS,
                                settings.connectTimeoutMillis())
                        .handler(
                                new ChannelInitializer<RdmaChannel>() {
                                    @Override
                                    protected void initChannel(RdmaChannel made) {
                                        made.pipeline()
                                                .addLast(new RpcRdmaCodec(config))
                                                .addLast(new Replies());
                                        if (settings.handler() != null) {
                                            made.pipeline().addLast(settings.handler().get());
                                        }
                                    }
                                });
        // The last resort: after this nobody else can end what is left.
        addTerminationListener();
    }

    @SuppressWarnings("unchecked") // as below
    private void addTerminationListener() {
        ((Future<Object>) loop.terminationFuture()).addListener(atTermination);
    }

    // ------------------------------------------------------------------ any thread

    /** The calls that are not over. */
    int outstanding() {
        return outstanding;
    }

    EventLoop loop() {
        return loop;
    }

    void submit(ClientCall<?> call) {
        OUTSTANDING.incrementAndGet(this);
        submitted.add(call);
        if (isDraining.compareAndSet(false, true)) {
            try {
                loop.execute(this::drain);
            } catch (RejectedExecutionException e) {
                isDraining.set(false);
                if (loop.isTerminated()) {
                    terminated();
                }
            }
        }
    }

    void cancelled(ClientCall<?> call) {
        if (loop.inEventLoop()) {
            giveUp(call);
        } else {
            try {
                loop.execute(() -> giveUp(call));
            } catch (RejectedExecutionException e) {
                // The event loop is gone, and so is everything that the call has.
            }
        }
    }

    /** What is known of the connection that there is; {@code null} while there is none. */
    RpcRdmaConnection current() {
        return current;
    }

    /** Connects now, whatever the back-off says, and tries once. */
    Future<Void> connectNow() {
        Promise<Void> promise = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        try {
            loop.execute(() -> connectFor(promise));
        } catch (RejectedExecutionException e) {
            promise.setFailure(e);
        }
        return promise;
    }

    Future<Void> close() {
        try {
            loop.execute(this::closeNow);
        } catch (RejectedExecutionException e) {
            closed.trySuccess(null);
        }
        return closed;
    }

    // ------------------------------------------------------------------ calls

    private void drain() {
        isDraining.set(false);
        for (ClientCall<?> call = submitted.poll(); call != null; call = submitted.poll()) {
            start(call);
        }
        if (state == State.ACTIVE) {
            channel.flush();
        }
    }

    private void start(ClientCall<?> call) {
        call.isStarted = true;
        call.serial = nextSerial++;
        if (call.isDone()) {
            forget(call);
        } else if (state == State.CLOSED) {
            fail(call, closedException(call));
        } else if (pending.size() > settings.config().maxQueuedCalls()) {
            fail(call, new CallQueueFullException(settings.config().maxQueuedCalls()));
        } else {
            add(call);
            arm(call.deadline);
            if (state == State.ACTIVE) {
                send(call);
            } else {
                connectWhenAllowed();
            }
        }
    }

    /** Gives the call a fresh XID: not that of one that waits, nor of one that was given up and may still be answered. */
    private void add(ClientCall<?> call) {
        RpcRdmaConnection codec = channel == null ? null : RpcRdmaConnection.of(channel);
        int xid;
        do {
            xid = nextXid;
            nextXid += xidStep;
        } while (pending.containsKey(xid) || (codec != null && codec.call(xid) != null));
        call.xid(xid);
        pending.put(xid, call);
    }

    private void send(ClientCall<?> call) {
        if (!channel.isActive()) {
            return; // closed already: lost() is on its way, and sees a call that was not sent
        }
        call.answersBefore = answers(channel);
        if (call.answersBefore == 0 && RpcRdmaConnection.of(channel).callsInFlight() == 0) {
            timeFirst(call);
        }
        call.writeTo(channel);
    }

    /** The only credit of a fresh connection goes to this call (RFC 8166, 3.3.3): those behind it wait for its reply. */
    private void timeFirst(ClientCall<?> call) {
        hasFirstDeadline = call.options.isRetransmitted();
        if (hasFirstDeadline) {
            firstDeadline =
                    System.nanoTime()
                            + (settings.firstCallNanos() << Math.min(silentStarts, MAX_DOUBLINGS));
            arm(firstDeadline);
        }
    }

    /** What the responder has answered on a channel, calls that were given up included: what answers is alive. */
    private static long answers(Channel channel) {
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        return connection.value(RpcRdmaCounter.REPLIES_RECEIVED)
                + connection.value(RpcRdmaCounter.ERRORS_RECEIVED);
    }

    /** The write of a call has failed: either it alone is bad, or the connection ends, which {@link #lost} sees to. */
    void writeFailed(ClientCall<?> call, Throwable cause) {
        if (pending.get(call.xid) != call) {
            return;
        }
        if (cause instanceof NotSentException) {
            call.isInDoubt = false;
        } else if (cause instanceof ClosedChannelException || cause instanceof RdmaException) {
            call.channel.close();
        } else if (!(cause instanceof CancellationException)) {
            pending.remove(call.xid);
            boolean isNamed =
                    cause instanceof RpcRdmaException || cause instanceof IllegalArgumentException;
            fail(call, isNamed ? cause : new MarshalException(cause));
        }
    }

    private void answered(int xid, ReferenceCounted reply) {
        ClientCall<?> call = pending.remove(xid);
        if (call == null) {
            reply.release(); // the caller has just given it up
            return;
        }
        forget(call);
        call.succeed(reply);
    }

    private void refused(RpcRdmaFailure failure) {
        ClientCall<?> call = pending.remove(failure.xid());
        if (call == null) {
            return;
        }
        if (failure.cause() instanceof RemoteChunkException chunk && mayGrow(call, chunk)) {
            call.refused = chunk.offered();
            call.growth++;
            add(call);
            RpcRdmaConnection.of(channel).metrics().increment(RpcRdmaCounter.CALLS_REPEATED);
            send(call);
            channel.flush();
        } else {
            fail(call, failure.cause());
        }
    }

    /** As a new call, because the responder may have this one in its duplicate request cache, ERR_CHUNK and all. */
    private boolean mayGrow(ClientCall<?> call, RemoteChunkException chunk) {
        return chunk.mayGrow()
                && chunk.offered() > call.refused
                && chunk.offered() < settings.maxReplyBytes()
                && call.growth < MAX_DOUBLINGS
                && state == State.ACTIVE
                && switch (call.options.repetition()) {
                    case NEVER -> false;
                    case ALWAYS -> true;
                    case IF_IDEMPOTENT -> isIdempotent(call);
                };
    }

    private boolean isIdempotent(ClientCall<?> call) {
        ByteBuf payload = call.payload();
        int start = payload.readerIndex();
        int end = payload.writerIndex();
        if (!rpc.decode(payload, start, end) || !rpc.isReductionAllowed()) {
            return false; // arguments that RPCSEC_GSS has wrapped are not where the binding looks
        }
        arguments.wrap(payload, start, rpc.argumentsIndex(), end, call.reduction());
        try {
            return settings.config()
                    .bindings()
                    .find(rpc.program(), rpc.version())
                    .isIdempotent(rpc.version(), rpc.procedure(), arguments);
        } catch (MalformedXdrException e) {
            return false;
        } finally {
            arguments.release();
        }
    }

    private void giveUp(ClientCall<?> call) {
        if (!call.isStarted) {
            return; // it is still in the queue, which will find it done
        }
        if (pending.get(call.xid) == call) {
            pending.remove(call.xid);
            cancelInChannel(call);
            forget(call);
        }
    }

    private void cancelInChannel(ClientCall<?> call) {
        if (call.channel != null && call.channel == channel) {
            channel.writeAndFlush(new RpcRdmaCancel(call.xid, settings.fencesCancelled()));
        }
    }

    private void fail(ClientCall<?> call, Throwable cause) {
        forget(call);
        call.tryFailure(cause);
    }

    private void forget(ClientCall<?> call) {
        call.releaseMessage();
        OUTSTANDING.decrementAndGet(this);
    }

    // ------------------------------------------------------------------ connection

    private void connectWhenAllowed() {
        if (state != State.IDLE) {
            return;
        }
        if (loop.isShuttingDown()) {
            failAll(call -> lostException(call, "the event loop is shut down", null));
            return;
        }
        if (lastAttempt + backOff - System.nanoTime() > 0) {
            arm(lastAttempt + backOff);
        } else {
            connect();
        }
    }

    private void connectFor(Promise<Void> promise) {
        if (state == State.ACTIVE) {
            promise.setSuccess(null);
        } else if (state == State.CLOSED) {
            promise.setFailure(new ClosedChannelException());
        } else {
            connectPromises.add(promise);
            if (state == State.IDLE) {
                connect();
            }
        }
    }

    private void endConnectPromises(Throwable cause) {
        for (Promise<Void> promise : connectPromises) {
            if (cause == null) {
                promise.setSuccess(null);
            } else {
                promise.setFailure(cause);
            }
        }
        connectPromises.clear();
    }

    private void connect() {
        state = State.CONNECTING;
        lastAttempt = System.nanoTime();
        backOff =
                Math.max(
                        settings.minBackOffNanos(),
                        Math.min(2 * backOff, settings.maxBackOffNanos()));
        ChannelFuture future = bootstrap.connect(settings.remoteAddress());
        connecting = future.channel();
        future.addListener(
                (ChannelFutureListener)
                        made -> {
                            if (!made.isSuccess()) {
                                connectFailed(made.channel(), made.cause());
                            }
                        });
    }

    private void connectFailed(Channel failed, Throwable cause) {
        if (connecting != null && connecting != failed) {
            return;
        }
        connecting = null;
        lastFailure = cause;
        endConnectPromises(cause);
        if (state == State.CLOSED) {
            finishClose();
            return;
        }
        state = State.IDLE;
        for (ClientCall<?> call : inOrder()) {
            loseOrKeep(call, "no connection to " + settings.remoteAddress(), cause);
        }
        if (!pending.isEmpty()) {
            connectWhenAllowed();
        }
    }

    private void connected(Channel made) {
        if (state == State.CLOSED) {
            made.close();
            return;
        }
        state = State.ACTIVE;
        connecting = null;
        channel = made;
        current = RpcRdmaConnection.of(made);
        endConnectPromises(null);
        for (ClientCall<?> call : inOrder()) {
            if (call.wasSent) {
                RpcRdmaConnection.of(channel)
                        .metrics()
                        .increment(RpcRdmaCounter.CALLS_RETRANSMITTED);
            }
            send(call);
        }
        channel.flush();
    }

    /** The channel is gone, and with it every handle: calls go to the next one with the same XID, or fail. */
    private void lost(Channel gone) {
        if (gone != channel) {
            return;
        }
        channel = null;
        current = null;
        hasFirstDeadline = false;
        if (state == State.CLOSED) {
            finishClose();
            return;
        }
        state = State.IDLE;
        if (answers(gone) > 0) {
            silentStarts = 0;
            backOff = settings.minBackOffNanos();
        }
        for (ClientCall<?> call : inOrder()) {
            boolean wasInDoubt = call.isInDoubt;
            call.channel = null;
            call.isInDoubt = false;
            call.wasSent |= wasInDoubt;
            if (wasInDoubt && !call.options.isRetransmitted()) {
                pending.remove(call.xid);
                fail(call, lostException(call, "the connection was lost", lastFailure));
            } else if (wasInDoubt) {
                loseOrKeep(call, "the connection was lost", lastFailure);
            }
        }
        if (!pending.isEmpty()) {
            connectWhenAllowed();
        }
    }

    private void loseOrKeep(ClientCall<?> call, String why, Throwable cause) {
        if (++call.losses > settings.maxRetransmissions()) {
            pending.remove(call.xid);
            fail(call, lostException(call, why + ' ' + call.losses + " times", cause));
        }
    }

    private ConnectionLostException lostException(ClientCall<?> call, String why, Throwable cause) {
        boolean isSent = call.wasSent || call.isInDoubt;
        return new ConnectionLostException(why, isSent, !isSent || isIdempotent(call), cause);
    }

    private ConnectionLostException closedException(ClientCall<?> call) {
        return lostException(call, "the client was closed", null);
    }

    private List<ClientCall<?>> inOrder() {
        List<ClientCall<?>> calls = new ArrayList<>(pending.values());
        calls.sort(Comparator.comparingLong(call -> call.serial));
        return calls;
    }

    // ------------------------------------------------------------------ time

    /** One timer for the connection: it wakes up for what is due first, and looks at everything then. */
    private void arm(long deadline) {
        if (timer != null) {
            if (timerDeadline - deadline <= 0) {
                return;
            }
            timer.cancel(false);
        }
        timerDeadline = deadline;
        long delay = Math.max(0, deadline - System.nanoTime());
        try {
            timer = loop.schedule(this::wake, delay, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            timer = null; // the event loop ends; terminated() does the rest
        }
    }

    private void wake() {
        timer = null;
        if (state == State.CLOSED) {
            return;
        }
        long now = System.nanoTime();
        if (hasFirstDeadline && firstDeadline - now <= 0) {
            hasFirstDeadline = false;
            if (answers(channel) == 0) {
                silentStarts++;
                lastAttempt = now - backOff;
                channel.close();
            }
        }
        expire(now);
        if (state == State.IDLE && !pending.isEmpty()) {
            connectWhenAllowed();
        }
        if (hasFirstDeadline) {
            arm(firstDeadline);
        }
        for (ClientCall<?> call : pending.values()) {
            arm(call.deadline);
        }
    }

    private void expire(long now) {
        List<ClientCall<?>> late = null;
        for (ClientCall<?> call : pending.values()) {
            if (call.deadline - now <= 0) {
                late = late == null ? new ArrayList<>() : late;
                late.add(call);
            }
        }
        if (late == null) {
            return;
        }
        boolean isSilent = false;
        for (ClientCall<?> call : late) {
            pending.remove(call.xid);
            isSilent |=
                    call.channel != null
                            && call.channel == channel
                            && call.answersBefore == answers(channel);
            cancelInChannel(call);
            fail(call, timeoutException(call));
        }
        // Nothing has come since: the responder, or the way to it, is gone. A fresh connection
        // helps
        // those that wait, and gives back the credits and the memory of those that were given up.
        if (isSilent && channel != null && mayLoseAll()) {
            channel.close();
        }
    }

    private boolean mayLoseAll() {
        for (ClientCall<?> call : pending.values()) {
            if (call.isInDoubt && !call.options.isRetransmitted()) {
                return false;
            }
        }
        return true;
    }

    private CallTimeoutException timeoutException(ClientCall<?> call) {
        long millis =
                call.options.timeoutMillis() == 0
                        ? settings.callTimeoutMillis()
                        : call.options.timeoutMillis();
        long badReplies =
                channel == null
                        ? 0
                        : RpcRdmaConnection.of(channel).value(RpcRdmaCounter.DROPPED_BAD_REPLY);
        return new CallTimeoutException(
                millis, call.transmissions, badReplies, channel == null ? lastFailure : null);
    }

    // ------------------------------------------------------------------ end

    private void closeNow() {
        if (state == State.CLOSED) {
            return;
        }
        State before = state;
        state = State.CLOSED;
        if (timer != null) {
            timer.cancel(false);
        }
        if (before == State.ACTIVE) {
            channel.close();
        } else if (before == State.CONNECTING) {
            connecting.close();
        } else {
            finishClose();
        }
    }

    private void finishClose() {
        drain();
        endConnectPromises(new ClosedChannelException());
        failAll(this::closedException);
        removeTerminationListener();
        closed.trySuccess(null);
    }

    @SuppressWarnings("unchecked") // the event loop gives away its future without a type
    private void removeTerminationListener() {
        ((Future<Object>) loop.terminationFuture()).removeListener(atTermination);
    }

    private void failAll(Function<ClientCall<?>, Throwable> cause) {
        List<ClientCall<?>> calls = inOrder();
        pending.clear();
        for (ClientCall<?> call : calls) {
            fail(call, cause.apply(call));
        }
    }

    /** The event loop is gone: what is left ends here, on whatever thread sees it first. */
    private synchronized void terminated() {
        state = State.CLOSED;
        drain();
        endConnectPromises(new ClosedChannelException());
        failAll(call -> lostException(call, "the event loop is shut down", null));
        closed.trySuccess(null);
    }

    /** Brings replies and their calls together. */
    private final class Replies extends ChannelInboundHandlerAdapter {

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            connected(ctx.channel());
            ctx.fireChannelActive();
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (message instanceof RpcRdmaFailure failure) {
                refused(failure);
                return;
            }
            ByteBuf payload =
                    message instanceof RpcMessage annotated
                            ? annotated.content()
                            : message instanceof ByteBuf buffer ? buffer : null;
            if (payload != null && isReply(payload)) {
                answered(payload.getInt(payload.readerIndex()), (ReferenceCounted) message);
            } else {
                ctx.fireChannelRead(message);
            }
        }

        private static boolean isReply(ByteBuf payload) {
            return payload.readableBytes() >= RpcCallHeader.DIRECTION_BYTES
                    && payload.getInt(payload.readerIndex() + 4) == RpcCallHeader.REPLY;
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            lost(ctx.channel());
            ctx.fireChannelInactive();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            lastFailure = cause;
            ctx.close();
        }
    }
}
