// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.FuzzScript.Op;
import org.rpcrdma.codec.FuzzScript.Step;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * One connection between a codec and a peer that says what a script says. Both are on one event loop, and a step is
 * taken when nothing of the last one is under way any more, or, behind a message with {@link FuzzScript#AT_ONCE}, when
 * that one has arrived. So a script does the same each time.
 *
 * <p>When the script is over, the peer behaves: it answers what was called and completes what it was offered. If the
 * connection has survived, all calls have to come to their end by that, a new one has to work in each direction that is
 * open, and each message has to be accounted for. If it has not, somebody has to have had a reason.
 */
final class FuzzRun {

    static final int ACCEPTS = 1;
    static final int SPEAKS_TWO = 2;
    static final int READ_CHUNK_REPLIES = 4;
    static final int REVERSE = 8;
    static final int REVERSE_CHUNKS = 16;
    static final int COMPLETES_IN_TWO = 32;
    static final int NO_REPLY_CHUNKS = 64;
    static final int ADAPTIVE = 128;

    /** The optional operation in the place of RDMA_DONE. */
    static final int COMPLETION = 0x0AFF00DD;

    private static final int CREDITS = 8;
    private static final int REVERSE_CREDITS = 4;
    private static final int GOOD_XID = 0x600D0001;
    private static final int MOST_ROUNDS = 300;
    private static final int MOST_BURST = 3;
    private static final long EVER_NANOS = TimeUnit.HOURS.toNanos(1);
    private static final long MOST_MEMORY = 4 << 20;
    private static final BindingRegistry BINDINGS =
            BindingRegistry.standard().with(new ItemsBinding());

    private final int variant;
    private final Queue<Step> steps;
    private final EventLoop loop;
    private final FuzzWire wire = new FuzzWire(this);
    private final FuzzPeer peer = new FuzzPeer(this);
    private final FuzzUser user = new FuzzUser(this);
    private final RpcRdmaConfig config;
    private final RpcRdmaMetrics metrics = new RpcRdmaMetrics();
    private final List<String> problems = new ArrayList<>();
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private boolean isPoked;
    private int calm;
    private int rounds;
    private int goodCalls;
    private int completed;
    private boolean wasClosed;

    /** What the last message has set off may still be under way when the next step is taken. */
    private boolean isArrivalEnough;

    private Stage stage = Stage.SCRIPT;

    private enum Stage {
        SCRIPT,
        /** The peer behaves. */
        ENDING,
        /** One more call in each direction. */
        TRYING,
        CLOSING,
        CLOSED,
        OVER
    }

    FuzzRun(FuzzScript script, EventLoop loop) {
        this.variant = script.variant();
        this.loop = loop;
        steps = new ArrayDeque<>(script.steps());
        config = config();
    }

    // ------------------------------------------------------------------ configuration

    private boolean has(int bit) {
        return (variant & bit) != 0;
    }

    private RpcRdmaConfig config() {
        RpcRdmaConfig.Builder builder =
                RpcRdmaConfig.builder()
                        .bindings(BINDINGS)
                        .requestedCredits(CREDITS)
                        .grantedCredits(CREDITS)
                        .maxMessageBytes(64 << 10)
                        .maxChunkBytes(32 << 10)
                        .maxConnectionBytes(256 << 10)
                        .defaultMaximumReply(20_000)
                        .reverseChunks(has(REVERSE_CHUNKS))
                        .reverseCredits(has(REVERSE) ? REVERSE_CREDITS : 0);
        if (has(ADAPTIVE)) {
            builder.creditPolicy(CreditPolicy.adaptive(2));
        }
        if (has(SPEAKS_TWO)) {
            builder.versionTwo(user.versionTwo().build());
        }
        if (has(READ_CHUNK_REPLIES)) {
            ReadChunkReplyConfig replies =
                    ReadChunkReplyConfig.DEFAULT
                            .withMaxWaiting(6)
                            .withMaxWaitingBytes(48 << 10)
                            .withReplyChunks(
                                    has(NO_REPLY_CHUNKS)
                                            ? ReadChunkReplyConfig.ReplyChunks.NEVER
                                            : ReadChunkReplyConfig.ReplyChunks.IF_NEEDED);
            builder.readChunkReplies(
                    has(COMPLETES_IN_TWO) ? replies.withOptionType(COMPLETION) : replies);
        }
        return builder.build();
    }

    RpcRdmaCodec newCodec() {
        return new RpcRdmaCodec(config, metrics);
    }

    RpcRdmaConfig codecConfig() {
        return config;
    }

    boolean speaksTwo() {
        return has(SPEAKS_TWO);
    }

    boolean accepts() {
        return has(ACCEPTS);
    }

    boolean offersReplies() {
        return has(ACCEPTS) && has(READ_CHUNK_REPLIES);
    }

    /** Whether replies in Read chunks, and nothing else, come here with a Position Zero Read chunk. */
    boolean completesUnknown() {
        return has(READ_CHUNK_REPLIES) && !has(ACCEPTS) && !has(REVERSE);
    }

    int requested() {
        return has(ACCEPTS) ? REVERSE_CREDITS : CREDITS;
    }

    int mostGranted() {
        return has(ACCEPTS) ? CREDITS : REVERSE_CREDITS;
    }

    private boolean callsFromHere() {
        return !has(ACCEPTS) || has(REVERSE);
    }

    private boolean servesHere() {
        return has(ACCEPTS) || has(REVERSE);
    }

    // ------------------------------------------------------------------ parts

    FuzzWire wire() {
        return wire;
    }

    FuzzUser user() {
        return user;
    }

    FuzzPeer peer() {
        return peer;
    }

    RdmaChannel codec() {
        return wire.channel();
    }

    private RpcRdmaConnection connection() {
        return RpcRdmaConnection.of(codec());
    }

    /** The codec's side is there: opens the reverse direction, as the upper layer has to. */
    RpcRdmaReverseRequester opened(RdmaChannel channel) {
        if (!has(REVERSE)) {
            return null;
        }
        if (has(ACCEPTS)) {
            return RpcRdmaReverseRequester.builder(config)
                    .callTimeout(Duration.ofMillis(Integer.MAX_VALUE))
                    .attachTo(channel);
        }
        int granted = RpcRdmaConnection.of(channel).acceptReverseCalls(REVERSE_CREDITS);
        if (granted != REVERSE_CREDITS) {
            problem("reverse credits: " + granted);
        }
        return null;
    }

    void expect(byte[] message, List<FuzzPeer.Range> memory) {
        user.expect(message, memory);
    }

    void problem(String what) {
        problems.add(what);
    }

    void problem(String what, Throwable cause) {
        StringWriter trace = new StringWriter();
        cause.printStackTrace(new PrintWriter(trace));
        problems.add(what + ": " + trace);
    }

    void refusedRead(String what) {
        if (wire.reasonToClose == null && peer.reasonToClose == null && !wasClosed) {
            problem(what + " was refused");
        }
    }

    // ------------------------------------------------------------------ step by step

    /** Waits for the end; not on the event loop. */
    void await() throws Exception {
        try {
            done.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError("the connection hangs: " + this, e);
        }
        if (!problems.isEmpty()) {
            throw new AssertionError(String.join("\n", problems));
        }
    }

    /** Something has happened: perhaps the next step can be taken. Event loop only. */
    void poke() {
        if (!isPoked && stage != Stage.OVER) {
            isPoked = true;
            loop.execute(this::advance);
        }
    }

    private void advance() {
        isPoked = false;
        try {
            if (!isQuiet()) {
                calm = 0;
                return;
            }
            // What was put off to the end of the event loop's round is done then.
            if (calm++ < 2) {
                poke();
                return;
            }
            calm = 0;
            step();
            poke();
        } catch (Throwable e) {
            stage = Stage.OVER;
            done.completeExceptionally(e);
        }
    }

    private boolean isOpen() {
        return peer.isOpen() && codec() != null && codec().isActive();
    }

    private boolean isQuiet() {
        if (peer.channel() == null || codec() == null || codec().eventLoop() != loop) {
            return false;
        }
        boolean isIdle = wire.pending == 0 && peer.pending == 0;
        boolean isEnding = !peer.channel().isOpen() || !codec().isOpen();
        if (isEnding || peer.isInactive || wire.isInactive) {
            return peer.isInactive && wire.isInactive && isIdle;
        }
        return isOpen()
                && connection().isStarted()
                && peer.sent == wire.received
                && ((stage == Stage.SCRIPT && isArrivalEnough)
                        || (isIdle && wire.sent == peer.received));
    }

    private void step() {
        if (!problems.isEmpty() && !isEnd()) {
            close();
            return;
        }
        if (!isOpen() && !isEnd()) {
            checkReason();
            stage = Stage.CLOSING;
        }
        switch (stage) {
            case SCRIPT -> {
                check();
                takeSteps();
            }
            case ENDING -> {
                check();
                if (!behave()) {
                    stage = Stage.TRYING;
                    tryAgain();
                }
            }
            case TRYING -> {
                check();
                if (!behave()) {
                    checkEnd();
                    close();
                }
            }
            case CLOSING -> {
                user.close();
                stage = Stage.CLOSED;
            }
            case CLOSED -> {
                checkClosed();
                stage = Stage.OVER;
                done.complete(null);
            }
            case OVER -> {}
        }
    }

    private boolean isEnd() {
        return stage == Stage.CLOSING || stage == Stage.CLOSED;
    }

    private void takeSteps() {
        // More at once than there are receives would be the peer's mistake, and the end of
        // the connection.
        int most = Math.min(MOST_BURST, ChannelInternals.of(codec()).keptReceives());
        int burst = 0;
        boolean goesOn = true;
        isArrivalEnough = false;
        while (goesOn && !steps.isEmpty()) {
            Step step = steps.remove();
            take(step);
            boolean isAtOnce =
                    step.op() == Op.SEND
                            && (step.argument() & FuzzScript.AT_ONCE) != 0
                            && ++burst < most;
            boolean isNextSent = !steps.isEmpty() && steps.element().op() == Op.SEND;
            goesOn = isAtOnce && isNextSent;
            isArrivalEnough = isAtOnce && !isNextSent;
        }
        if (steps.isEmpty()) {
            stage = Stage.ENDING;
        }
    }

    private void take(Step step) {
        int argument = step.argument();
        byte[] data = step.data();
        switch (step.op()) {
            case SEND -> peer.send(FuzzScript.resolve(data, peer), argument);
            case CALL -> {
                if (callsFromHere()) {
                    user.call(argument);
                }
            }
            case REPLY -> user.reply(argument, number(data));
            case CANCEL ->
                    user.cancel(
                            argument & ~FuzzScript.NOT_FENCED,
                            (argument & FuzzScript.NOT_FENCED) == 0);
            case OPTION -> {
                if (callsFromHere()) {
                    user.option(argument, data);
                }
            }
            case ANSWER -> user.answerOption(argument);
            case EXPOSE -> peer.expose(FuzzScript.resolve(data, peer));
            case PULL -> {
                if (!peer.offered.isEmpty()) {
                    peer.pull(peer.offered.get(argument % peer.offered.size()));
                }
            }
            case MIRROR -> {
                if (!peer.calls.isEmpty()) {
                    int padded = Math.min(data.length, 1024) & ~3;
                    peer.answer(
                            peer.calls.get(argument % peer.calls.size()),
                            Arrays.copyOf(data, padded));
                }
            }
            case PUSH -> peer.push(argument, data);
            case EXPIRE -> {
                if (connection().responder().waiting() != null) {
                    connection().responder().waiting().expire(System.nanoTime() + EVER_NANOS);
                }
            }
            case CLOSE -> {
                wasClosed = true;
                ((argument & 1) == 0 ? codec() : peer.channel()).close();
            }
        }
    }

    private static int number(byte[] data) {
        return data.length < 2 ? 0 : Unpooled.wrappedBuffer(data).getUnsignedShort(0);
    }

    // ------------------------------------------------------------------ what has to hold

    /** At any time. */
    private void check() {
        RpcRdmaConnection connection = connection();
        long bytes = codec().registeredBytesInUse();
        if (bytes > MOST_MEMORY) {
            problem(bytes + " bytes of registered memory");
        }
        long ofReplies = connection.requester().pulls().bytes();
        long ofCalls = connection.responder().pulls().bytes();
        if (Math.max(ofReplies, ofCalls) > config.maxConnectionBytes()) {
            problem(ofCalls + " bytes of calls and " + ofReplies + " of replies pulled");
        }
        if (user.unanswered() > mostGranted()) {
            problem(user.unanswered() + " calls to answer, granted: " + mostGranted());
        }
        int promised = servesHere() ? connection.responder().credits.outstanding() : 0;
        OutboundRepliesAwaitingPullCompletion waiting = connection.responder().waiting();
        int completions = waiting == null ? 0 : waiting.count();
        if (servesHere() && promised + completions > ChannelInternals.of(codec()).keptReceives()) {
            problem(
                    promised
                            + " calls and "
                            + completions
                            + " completions may come, receives: "
                            + ChannelInternals.of(codec()).keptReceives());
        }
        if (waiting != null && waiting.bytes() > config.readChunkReplies().maxWaitingBytes()) {
            problem(waiting.bytes() + " bytes wait");
        }
        wire.checkFenced();
    }

    private void checkReason() {
        boolean isNamed =
                wasClosed
                        || wire.reasonToClose != null
                        || peer.reasonToClose != null
                        || (metrics.value(RpcRdmaCounter.CREDIT_OVERRUNS) > 0
                                && peer.mayHaveOverrun())
                        || metrics.value(RpcRdmaCounter.CHUNK_ERROR_DISCONNECTS) > 0;
        if (!isNamed) {
            problem("the connection ends for no reason: " + this);
        }
    }

    /** Answers and completes what there is; false when there is nothing. */
    private boolean behave() {
        if (++rounds > MOST_ROUNDS) {
            problem("there is no end: " + this);
            return false;
        }
        if (!user.held().isEmpty()) {
            user.reply(0, 8);
            return true;
        }
        if (user.hasHeldOptions()) {
            user.answerOption(0);
            return true;
        }
        // Also of those whose handle the peer has invalidated: only a completion frees them.
        while (completed < peer.offered.size()) {
            FuzzPeer.Offered offer = peer.offered.get(completed++);
            if (connection().responder().waiting().count() > 0) {
                peer.send(completion(offer), 0);
                return true;
            }
        }
        for (FuzzPeer.Called call : peer.calls) {
            OutboundCallState known = connection().call(call.xid());
            if (known != null && known.isUnanswered()) {
                peer.answer(call, new byte[0]);
                return true;
            }
        }
        return false;
    }

    private static byte[] completion(FuzzPeer.Offered offer) {
        ByteBuf out = Unpooled.buffer();
        if (offer.version() == TransportHeader.VERSION_ONE) {
            TransportHeader.encodeDone(out, offer.xid(), 1);
        } else {
            OptionalOperationMessage.encodeHeader(
                    out, offer.xid(), 1, OncRpcHeaderDecoder.CALL, COMPLETION, 0);
        }
        return Rpc.bytes(out);
    }

    /** What is open still works. */
    private void tryAgain() {
        if (servesHere()) {
            goodCalls++;
            byte[] call =
                    Rpc.bytes(
                            RawPeer.message(
                                    RawPeer.header(GOOD_XID, TransportHeader.RDMA_MSG),
                                    Rpc.echo(GOOD_XID, 8)));
            peer.send(call, 0);
        }
        if (callsFromHere()) {
            user.call(0);
        }
    }

    private long sum(RpcRdmaCounter... counters) {
        long sum = 0;
        for (RpcRdmaCounter counter : counters) {
            sum += connection().value(counter);
        }
        return sum;
    }

    private void checkEnd() {
        RpcRdmaConnection connection = connection();
        if (!user.outstanding().isEmpty()) {
            problem("calls that nobody ends: " + user.outstanding() + ' ' + this);
        }
        if (connection.callsInFlight() != 0
                || connection.value(RpcRdmaGauge.READ_BYTES_HELD) != 0) {
            problem("something is left: " + this);
        }
        if (goodCalls > 0 && !peer.isAnswered(GOOD_XID)) {
            problem("a good call has no answer: " + this);
        }
        OutboundRepliesAwaitingPullCompletion waiting = connection.responder().waiting();
        if (waiting != null && (waiting.count() != 0 || waiting.bytes() != 0)) {
            problem("replies that wait: " + waiting.count() + ", bytes " + waiting.bytes());
        }
        for (FuzzPeer.Range range : peer.known()) {
            if (codec().isExposed(range.handle())) {
                problem("handle that is left: " + range.handle());
            }
        }
        // Whatever comes of a reply in Read chunks, the responder is told.
        long offers = has(ACCEPTS) ? 0 : sum(RpcRdmaCounter.READ_CHUNK_REPLIES);
        if (peer.completions != sum(RpcRdmaCounter.PULL_COMPLETIONS_SENT)
                || peer.completions < offers + peer.completionsDue) {
            problem(
                    peer.completions
                            + " completions for "
                            + offers
                            + " replies, and "
                            + peer.completionsDue
                            + " that nobody waits for");
        }
        long taken =
                sum(
                        RpcRdmaCounter.REPLIES_SENT,
                        RpcRdmaCounter.CHUNK_ERRORS_SENT,
                        RpcRdmaCounter.VERSION_ERRORS_SENT,
                        RpcRdmaCounter.OPTION_ERRORS_SENT,
                        RpcRdmaCounter.REPLIES_RECEIVED,
                        RpcRdmaCounter.ERRORS_RECEIVED,
                        RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED);
        long dropped =
                sum(
                        RpcRdmaCounter.DROPPED_SHORT,
                        RpcRdmaCounter.DROPPED_VERSION,
                        RpcRdmaCounter.DROPPED_PROCEDURE,
                        RpcRdmaCounter.DROPPED_COMPLETIONS,
                        RpcRdmaCounter.DROPPED_ERROR,
                        RpcRdmaCounter.DROPPED_UNKNOWN_XID,
                        RpcRdmaCounter.DROPPED_DUPLICATE_XID,
                        RpcRdmaCounter.DROPPED_BAD_REPLY,
                        RpcRdmaCounter.DROPPED_UNEXPECTED_CALL);
        if (taken + dropped != wire.received) {
            problem(
                    "messages: "
                            + wire.received
                            + ", taken: "
                            + taken
                            + ", dropped: "
                            + dropped
                            + ' '
                            + this);
        }
    }

    /** Closes what is left, whatever has happened. */
    void close() {
        stage = Stage.CLOSING;
        wasClosed = true;
        codec().close();
        peer.channel().close();
    }

    private void checkClosed() {
        peer.release();
        user.checkEnd();
        if (metrics.connections() != 0) {
            problem("the connection is counted as open");
        }
        long bytes = codec().registeredBytesInUse();
        if (bytes != 0) {
            problem(bytes + " bytes of registered memory are left");
        }
    }

    @Override
    public String toString() {
        StringBuilder counters = new StringBuilder();
        for (RpcRdmaCounter counter : RpcRdmaCounter.values()) {
            long value = metrics.value(counter);
            if (value != 0) {
                counters.append(counter).append('=').append(value).append(' ');
            }
        }
        return stage
                + ", rounds "
                + rounds
                + ", sent "
                + peer.sent
                + '/'
                + wire.received
                + ", received "
                + wire.sent
                + '/'
                + peer.received
                + ", pending "
                + wire.pending
                + '/'
                + peer.pending
                + ", inactive "
                + wire.isInactive
                + '/'
                + peer.isInactive
                + ", "
                + wire.reasonToClose
                + ", "
                + peer.reasonToClose
                + ", "
                + counters;
    }
}
