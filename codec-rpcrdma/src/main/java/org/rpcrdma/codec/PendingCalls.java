// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.FutureListener;
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
import org.rpcrdma.channel.RdmaException;
import org.rpcrdma.codec.binding.MalformedXdrException;
import org.rpcrdma.codec.binding.XdrCursor;

/**
 * The calls of one requester that have no reply yet: their XIDs and deadlines, and what is done for them when a channel is
 * lost or the responder has no room for the reply. There is one channel at a time; where it comes from is its owner's
 * business, and so are the two directions of RFC 8167 the same here.
 *
 * <p>Everything belongs to one event loop, that of the channel; {@link #submit}, {@link #cancelled} and {@link #run} are for
 * any thread. {@link #moveTo} hands all of it over to another event loop.
 */
final class PendingCalls {

    /** The most doublings of anything. */
    static final int MAX_DOUBLINGS = 16;

    /** Whoever makes the channels. Called on the event loop. */
    interface Owner {

        /** A call has begun to wait, and there is no channel. */
        void callWaits();

        /** A call is about to go out on a channel that has answered nothing, and has nothing else out. */
        void firstSent(ClientCall<?> call);

        /** Some deadline is over. */
        void wake(long now);

        /** A call was cancelled; nothing else is under way here. */
        void isGivenUp();

        /** Calls have timed out, and nothing has come on their channel since they were sent. */
        void isSilent();

        /** Why no call is taken any more; {@code null} while calls are taken. */
        String end();

        /** Why there is no channel, if anybody knows. */
        Throwable lastFailure();

        /** The event loop is gone, and nobody else ends the calls. On whatever threads see it. */
        void terminated();
    }

    /** How calls are treated that say nothing else. */
    record Settings(
            RpcRdmaConfig config,
            long callTimeoutMillis,
            int maxRetransmissions,
            long maxReplyBytes,
            boolean fencesCancelled) {}

    private static final Comparator<ClientCall<?>> OLDEST_FIRST =
            Comparator.comparingLong(call -> call.serial);

    private static final AtomicIntegerFieldUpdater<PendingCalls> OUTSTANDING =
            AtomicIntegerFieldUpdater.newUpdater(PendingCalls.class, "outstanding");

    private final Owner owner;
    private final Settings settings;
    private final Queue<ClientCall<?>> submitted = PlatformDependent.newMpscQueue();
    private final AtomicBoolean isDraining = new AtomicBoolean();
    private final Runnable drain = this::drain;
    private final FutureListener<Object> atTermination;
    private volatile int outstanding;

    /** Changed by itself only; whoever sees the new one sees all that the old one has left. */
    private volatile EventLoop loop;

    // ---- event loop only

    private final IntObjectHashMap<ClientCall<?>> pending = new IntObjectHashMap<>();
    private final RpcCallHeader rpc = new RpcCallHeader();
    private final XdrCursor arguments = new XdrCursor();
    private final int xidStep;
    private int nextXid;
    private long nextSerial;
    private Channel channel;
    private ScheduledFuture<?> timer;
    private long timerDeadline;

    /**
     * @param number of this requester among {@code 1 << log2}: no two use the same XID
     */
    PendingCalls(Owner owner, Settings settings, EventLoop loop, int number, int log2) {
        this.owner = owner;
        this.settings = settings;
        atTermination = future -> owner.terminated();
        this.loop = loop;
        xidStep = 1 << log2;
        nextXid = (ThreadLocalRandom.current().nextInt() << log2) | number;
        // The last resort: after this nobody else can end what is left.
        addTerminationListener();
    }

    @SuppressWarnings("unchecked") // the event loop gives away its future without a type
    private void addTerminationListener() {
        ((Future<Object>) loop.terminationFuture()).addListener(atTermination);
    }

    @SuppressWarnings("unchecked") // as above
    private void removeTerminationListener() {
        ((Future<Object>) loop.terminationFuture()).removeListener(atTermination);
    }

    // ------------------------------------------------------------------ any thread

    EventLoop loop() {
        return loop;
    }

    /** The calls that are not over. */
    int outstanding() {
        return outstanding;
    }

    /**
     * Makes a call of a message.
     *
     * @param message taken over
     * @param payload what it begins with
     */
    <V extends ReferenceCounted> Future<V> submit(V message, ByteBuf payload, CallOptions options) {
        String problem = problem(payload);
        if (problem != null) {
            message.release();
            return loop.newFailedFuture(new IllegalArgumentException(problem));
        }
        ClientCall<V> call = newCall(message, options);
        OUTSTANDING.incrementAndGet(this);
        submitted.add(call);
        if (isDraining.compareAndSet(false, true) && !execute(drain)) {
            isDraining.set(false);
            if (loop.isTerminated()) {
                owner.terminated();
            }
        }
        return call;
    }

    private <V extends ReferenceCounted> ClientCall<V> newCall(V message, CallOptions options) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis(options));
        return new ClientCall<>(this, message, options, deadline);
    }

    private long timeoutMillis(CallOptions options) {
        return options.timeoutMillis() == 0
                ? settings.callTimeoutMillis()
                : options.timeoutMillis();
    }

    private static String problem(ByteBuf payload) {
        if (payload.readableBytes() < RpcCallHeader.MINIMUM_CALL_BYTES
                || payload.getInt(payload.readerIndex() + 4) != RpcCallHeader.CALL) {
            return "message of "
                    + payload.readableBytes()
                    + " bytes (expected: an RPC call, at least "
                    + RpcCallHeader.MINIMUM_CALL_BYTES
                    + " bytes, without a record mark)";
        }
        return payload.isReadOnly()
                ? "call in a read-only buffer (expected: a writable one, for the XID)"
                : null;
    }

    void cancelled(ClientCall<?> call) {
        if (loop.inEventLoop()) {
            giveUp(call);
            run(owner::isGivenUp); // later: listeners cancel where calls are looked through
        } else {
            // When the event loop is gone, so is everything that the call has.
            run(
                    () -> {
                        giveUp(call);
                        owner.isGivenUp();
                    });
        }
    }

    /** Runs on the event loop, whichever it is by then; later, even when this is it. False when it is gone. */
    boolean run(Runnable task) {
        return execute(
                () -> {
                    if (loop.inEventLoop()) {
                        task.run();
                    } else {
                        run(task);
                    }
                });
    }

    private boolean execute(Runnable task) {
        try {
            loop.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    // ------------------------------------------------------------------ begin and end of calls

    private void drain() {
        if (!loop.inEventLoop()) {
            execute(drain);
            return;
        }
        startSubmitted();
        if (channel != null) {
            channel.flush();
        }
    }

    private void startSubmitted() {
        isDraining.set(false);
        for (ClientCall<?> call = submitted.poll(); call != null; call = submitted.poll()) {
            start(call);
        }
    }

    private void start(ClientCall<?> call) {
        call.isStarted = true;
        call.serial = nextSerial++;
        String end = owner.end();
        if (call.isDone()) {
            forget(call);
        } else if (end != null) {
            fail(call, lostException(call, end, null));
        } else if (pending.size() > settings.config().maxQueuedCalls()) {
            fail(call, new CallQueueFullException(settings.config().maxQueuedCalls()));
        } else {
            add(call);
            arm(call.deadline);
            if (channel == null) {
                owner.callWaits();
            } else {
                send(call);
            }
        }
    }

    /** Sends a call that belongs to the channel that there is: it ends with it, whatever the options say. */
    Future<ByteBuf> sendHere(ByteBuf message, CallOptions options) {
        String problem = problem(message);
        if (problem != null) {
            message.release();
            return loop.newFailedFuture(new IllegalArgumentException(problem));
        }
        ClientCall<ByteBuf> call = newCall(message, options);
        call.isOfOneChannel = true;
        OUTSTANDING.incrementAndGet(this);
        start(call);
        return call;
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
            return; // closed already: the loss is on its way, and sees a call that was not sent
        }
        call.answersBefore = answers(channel);
        if (call.answersBefore == 0 && RpcRdmaConnection.of(channel).callsInFlight() == 0) {
            owner.firstSent(call);
        }
        call.writeTo(channel);
    }

    /** What the responder has answered on a channel, calls that were given up included: what answers is alive. */
    static long answers(Channel channel) {
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        return connection.value(RpcRdmaCounter.REPLIES_RECEIVED)
                + connection.value(RpcRdmaCounter.ERRORS_RECEIVED);
    }

    /** The write of a call has failed: either it alone is bad, or the connection ends, which {@link #lost} sees to. */
    void writeFailed(ClientCall<?> call, Throwable cause) {
        if (!isPending(call)) {
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

    /**
     * Takes what the codec of the channel has delivered, if it ends a call.
     *
     * @return whether it was taken; otherwise it is still the caller's
     */
    boolean received(Object message) {
        if (message instanceof RpcRdmaFailure failure) {
            refused(failure);
            return true;
        }
        ByteBuf payload = RpcMessage.payloadOf(message);
        boolean isReply = RpcCallHeader.isOfType(payload, RpcCallHeader.REPLY);
        if (isReply) {
            answered(payload.getInt(payload.readerIndex()), (ReferenceCounted) message);
        }
        return isReply;
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
                && channel != null
                && RpcRdmaConnection.of(channel).callsMayHaveChunks()
                && owner.end() == null
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
        if (isPending(call)) {
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

    // ------------------------------------------------------------------ channels

    /** {@code null} while there is none. */
    Channel channel() {
        return channel;
    }

    /** Whether calls wait, for a channel or a reply. */
    boolean areWaiting() {
        return !pending.isEmpty();
    }

    /** Whether the responder may have a call from the channel that there is. */
    boolean areInDoubt() {
        for (ClientCall<?> call : pending.values()) {
            if (call.isInDoubt) {
                return true;
            }
        }
        return false;
    }

    /** There is a channel: nothing is sent on it before {@link #sendAll}. */
    void connected(Channel made) {
        channel = made;
    }

    /** Sends what waits; what was sent on an earlier channel goes with the same XID (RFC 8166, 4.5.5; RFC 8167, 5.4). */
    void sendAll() {
        Channel to = channel;
        for (ClientCall<?> call : inOrder()) {
            if (channel != to) {
                return; // whoever was told of a failure has brought another one, or will
            }
            if (!isPending(call) || call.channel != null) {
                continue;
            }
            if (call.wasSent) {
                RpcRdmaConnection.of(to).metrics().increment(RpcRdmaCounter.CALLS_RETRANSMITTED);
            }
            send(call);
        }
        to.flush();
    }

    /**
     * The channel is gone, and with it every handle: calls go to the next one, or fail.
     *
     * @param mayRetransmit whether calls that were sent may be sent again at all
     */
    void lost(String why, boolean mayRetransmit) {
        channel = null;
        for (ClientCall<?> call : inOrder()) {
            if (!isPending(call)) {
                continue;
            }
            boolean wasInDoubt = call.isInDoubt;
            call.channel = null;
            call.isInDoubt = false;
            call.wasSent |= wasInDoubt;
            boolean isRepeated = mayRetransmit && call.options.isRetransmitted();
            if (call.isOfOneChannel || (wasInDoubt && !isRepeated)) {
                pending.remove(call.xid);
                fail(call, lostException(call, why, owner.lastFailure()));
            } else if (wasInDoubt) {
                loseOrKeep(call, why, owner.lastFailure());
            }
        }
        if (channel != null) {
            sendAll(); // a listener has brought another channel, which could not have these yet
        }
    }

    /** There was to be a channel, and there is none. */
    void notConnected(String why, Throwable cause) {
        for (ClientCall<?> call : inOrder()) {
            if (isPending(call)) {
                loseOrKeep(call, why, cause);
            }
        }
    }

    /** The channel is not used any more though it lives: its calls are given up there, as if it were lost. */
    void abandonChannel(String why) {
        for (ClientCall<?> call : pending.values()) {
            cancelInChannel(call);
        }
        lost(why, true);
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

    /** Listeners run where calls are looked through, and may cancel the next one. */
    private boolean isPending(ClientCall<?> call) {
        return pending.get(call.xid) == call;
    }

    /** A copy: each call may be over when its turn comes. */
    private List<ClientCall<?>> inOrder() {
        List<ClientCall<?>> calls = new ArrayList<>(pending.values());
        calls.sort(OLDEST_FIRST);
        return calls;
    }

    /** Hands everything over to another event loop; there must be no channel. This one touches nothing afterwards. */
    void moveTo(EventLoop next) {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
        removeTerminationListener();
        loop = next;
        addTerminationListener();
        run(this::armAll);
    }

    // ------------------------------------------------------------------ time

    /** One timer: it wakes up for what is due first, and looks at everything then. */
    void arm(long deadline) {
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
        if (!loop.inEventLoop()) {
            return; // the other event loop has a timer of its own
        }
        timer = null;
        if (owner.end() == null) {
            owner.wake(System.nanoTime());
            if (loop.inEventLoop()) { // otherwise all was handed over meanwhile
                armAll();
            }
        }
    }

    private void armAll() {
        for (ClientCall<?> call : pending.values()) {
            arm(call.deadline);
        }
    }

    /** Fails what is late, the oldest first: XIDs have no order. */
    void expire(long now) {
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
        late.sort(OLDEST_FIRST);
        boolean isSilent = false;
        for (ClientCall<?> call : late) {
            if (!isPending(call)) {
                continue;
            }
            pending.remove(call.xid);
            isSilent |=
                    call.channel != null
                            && call.channel == channel
                            && call.answersBefore == answers(channel);
            cancelInChannel(call);
            fail(call, timeoutException(call));
        }
        if (isSilent && channel != null) {
            owner.isSilent();
        }
    }

    /** Whether no call would fail because the channel is closed. */
    boolean mayLoseAll() {
        for (ClientCall<?> call : pending.values()) {
            if (call.isInDoubt && !call.options.isRetransmitted() && !call.isOfOneChannel) {
                return false;
            }
        }
        return true;
    }

    private CallTimeoutException timeoutException(ClientCall<?> call) {
        long badReplies =
                channel == null
                        ? 0
                        : RpcRdmaConnection.of(channel).value(RpcRdmaCounter.DROPPED_BAD_REPLY);
        return new CallTimeoutException(
                timeoutMillis(call.options),
                call.transmissions,
                badReplies,
                channel == null ? owner.lastFailure() : null);
    }

    // ------------------------------------------------------------------ end

    /** Ends all calls, those that were just submitted included; {@link Owner#end} says why already. */
    void end() {
        startSubmitted();
        failAll(owner.end());
        removeTerminationListener();
    }

    /** Ends the calls that there are. */
    void failAll(String why) {
        List<ClientCall<?>> calls = inOrder();
        pending.clear();
        for (ClientCall<?> call : calls) {
            fail(call, lostException(call, why, null));
        }
    }

    void stopTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }
}
