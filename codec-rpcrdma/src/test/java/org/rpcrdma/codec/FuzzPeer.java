// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * The end of a fuzzed connection that says what the script says. It takes apart what comes, and knows what may come:
 * well-formed headers within the thresholds, credits within what is configured, and at most one answer to each message.
 */
final class FuzzPeer extends ChannelInboundHandlerAdapter implements FuzzScript.Words {

    /** The longest message of any kind, in either version. */
    static final int THRESHOLD = 4096;

    /** Memory of either side, and what is in it if that is known. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Range(int handle, long offset, byte[] content) {}

    /** A call that has come, and whose answer is this side's. */
    record Called(int xid, int version, int proc, int option, TransportHeader header) {}

    /** A reply in Read chunks, and what it is if all of it is there. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Offered(int xid, int version, List<Range> ranges, int[] lengths, byte[] content) {}

    private final FuzzRun run;
    private final TransportHeader header = new TransportHeader();
    private final List<Range> own = new ArrayList<>();
    private final List<Range> theirs = new ArrayList<>();
    private final List<ByteBuf> memory = new ArrayList<>();
    private final Set<Integer> named = new HashSet<>();
    private final Map<Integer, Integer> sentByXid = new HashMap<>();
    private final Map<Integer, Integer> answersByXid = new HashMap<>();
    final List<Called> calls = new ArrayList<>();
    final List<Offered> offered = new ArrayList<>();
    private boolean hasSeenTwo;
    private RdmaChannel channel;
    long sent;
    long received;
    long completions;
    long completionsDue;
    private long allAnswers;
    private long promised;
    int pending;
    boolean isInactive;

    /** A work request has failed, or this side has said what ends a connection. */
    String reasonToClose;

    FuzzPeer(FuzzRun run) {
        this.run = run;
    }

    RdmaChannel channel() {
        return channel;
    }

    boolean isOpen() {
        return channel != null && channel.isActive();
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        channel = (RdmaChannel) ctx.channel();
        run.poke();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        isInactive = true;
        run.poke();
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        run.poke();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        // Why a connection has ended; whether it may is asked elsewhere.
    }

    // ------------------------------------------------------------------ does

    void send(byte[] message, int argument) {
        // An empty buffer is nothing that a channel sends.
        byte[] data = message.length == 0 ? new byte[1] : message;
        if (data.length > THRESHOLD) {
            return;
        }
        if (data.length >= 4) {
            sentByXid.merge(word(data, 0), 1, Integer::sum);
        }
        for (int at = 0; at + 4 <= data.length; at += 4) {
            named.add(word(data, at));
        }
        run.expect(data, own);
        expectCompletion(data);
        sent++;
        ByteBuf out = Unpooled.wrappedBuffer(data);
        boolean invalidates = (argument & FuzzScript.INVALIDATES) != 0 && !theirs.isEmpty();
        if (invalidates) {
            // That the handle is valid any more is this side's business: the device
            // breaks otherwise.
            reasonToClose = "Send With Invalidate";
        }
        Object written =
                invalidates
                        ? new RdmaSendWithInvalidate(
                                out, theirs.get((argument >> 2) % theirs.size()).handle())
                        : out;
        watch(channel.writeAndFlush(written), null);
        noteVersionError(data);
    }

    /** What nobody waits for is completed too, for this side to have its memory back (reliable reply draft, 4.1.3). */
    private void expectCompletion(byte[] data) {
        if (data.length < TransportHeader.MINIMUM_BYTES || !run.completesUnknown()) {
            return;
        }
        ByteBuf in = Unpooled.wrappedBuffer(data);
        header.decodeFixed(in, 0);
        boolean isOffer =
                header.version() == TransportHeader.VERSION_ONE
                        && header.proc() == TransportHeader.RDMA_NOMSG
                        && header.decodeLists(in, TransportHeader.FIXED_BYTES, data.length, 512) > 0
                        && header.reads().hasChunkAt(0);
        if (isOffer && RpcRdmaConnection.of(run.codec()).call(header.xid()) == null) {
            completionsDue++;
        }
    }

    /** After it there is no version that both sides speak. */
    private void noteVersionError(byte[] data) {
        boolean isVersionError =
                data.length >= RdmaErrorMessage.ERR_VERS_BYTES
                        && word(data, 12) == TransportHeader.RDMA_ERROR
                        && word(data, 16) == RdmaErrorMessage.ERR_VERS;
        if (isVersionError) {
            boolean hasOne = word(data, 20) == 0 || word(data, 20) == 1;
            boolean hasTwo =
                    run.speaksTwo()
                            && Integer.compareUnsigned(word(data, 20), 2) <= 0
                            && Integer.compareUnsigned(word(data, 24), 2) >= 0;
            boolean isEmpty = word(data, 24) == 0;
            // While the version is asked for, a peer without version 1 is of no use either.
            if (isEmpty || !(hasOne || hasTwo) || word(data, 20) == 2) {
                reasonToClose = "ERR_VERS";
            }
        }
    }

    private static int word(byte[] data, int at) {
        return Unpooled.wrappedBuffer(data).getInt(at);
    }

    /** Whether this side has ever named a handle. */
    boolean hasNamed(int handle) {
        return named.contains(handle);
    }

    /** Whether the other side may write there. */
    boolean takesWrite(int handle, long offset, int length) {
        for (int i = 1; i < own.size(); i += 2) {
            Range range = own.get(i);
            long start = offset - range.offset();
            if (range.handle() == handle) {
                return channel.isExposed(handle)
                        && start >= 0
                        && start + length <= range.content().length;
            }
        }
        return false;
    }

    void expose(byte[] content) {
        if (content.length == 0) {
            return;
        }
        ByteBuf buffer = channel.registeredBuffer(content.length).writeBytes(content);
        memory.add(buffer);
        // One for reading and one for writing: a script uses either by its number.
        RemoteAccess access = (own.size() & 1) == 0 ? RemoteAccess.READ : RemoteAccess.WRITE;
        int handle = channel.expose(buffer, 0, content.length, access);
        own.add(new Range(handle, channel.exposedOffset(handle), content.clone()));
    }

    void push(int n, byte[] data) {
        Range range = theirs(n);
        if (range == null || data.length == 0) {
            return;
        }
        ByteBuf content = channel.registeredBuffer(data.length).writeBytes(data);
        reasonToClose = "RDMA Write"; // of more than is there, or of what is gone
        watch(channel.writeAndFlush(new RdmaWrite(content, range.handle(), range.offset())), null);
    }

    /** What is still offered can be read, and is the reply. */
    void pull(Offered offer) {
        boolean isWaiting = isWaiting(offer);
        ByteBuf sink = Unpooled.buffer();
        int[] left = {offer.ranges.size()};
        for (int i = 0; i < offer.ranges.size(); i++) {
            int length = offer.lengths[i];
            int start = sink.writerIndex();
            sink.writeZero(length);
            ByteBuf part = channel.registeredBuffer(length).writerIndex(length);
            Range range = offer.ranges.get(i);
            ChannelFuture read =
                    channel.writeAndFlush(
                            new RdmaRead(part.retain(), range.handle(), range.offset()));
            watch(read, isWaiting ? "Read of a reply that waits" : null);
            read.addListener(
                    done -> {
                        sink.setBytes(start, part, 0, length);
                        part.release();
                        if (--left[0] == 0 && done.isSuccess() && isWaiting) {
                            checkPulled(offer, ByteBufUtil.getBytes(sink));
                        }
                    });
        }
        if (!isWaiting) {
            reasonToClose = "RDMA Read of what was given back";
        }
    }

    /** What was pulled has to be what was written. */
    private void checkPulled(Offered offer, byte[] pulled) {
        if (offer.content != null && !Arrays.equals(offer.content, pulled)) {
            run.problem("reply " + offer.xid + " is another one when it is read");
        }
    }

    boolean isWaiting(Offered offer) {
        for (Range range : offer.ranges) {
            if (!run.codec().isExposed(range.handle())) {
                return false;
            }
        }
        return true;
    }

    /** As a peer should that has nothing more to say. */
    void answer(Called call, byte[] results) {
        ByteBuf out;
        if (call.proc == TransportHeader.RDMA2_OPTIONAL) {
            ByteBuf payload =
                    run.user().takesMessages(call.option)
                            ? Rpc.reply(call.xid)
                            : Unpooled.EMPTY_BUFFER;
            out = Unpooled.buffer();
            OptionalOperationMessage.call(call.xid, call.option, new byte[0])
                    .reply(new byte[0], payload)
                    .encode(out, 16);
        } else {
            TransportHeader reply =
                    new TransportHeader()
                            .set(
                                    call.xid,
                                    call.version,
                                    16,
                                    TransportHeader.RDMA_MSG,
                                    OncRpcHeaderDecoder.REPLY);
            reply.writes().copy(call.header.writes());
            reply.reply().copy(call.header.reply());
            for (int i = 0; i < reply.writes().segments(); i++) {
                reply.writes().length(i, 0);
            }
            for (int i = 0; i < reply.reply().segments(); i++) {
                reply.reply().length(i, 0);
            }
            out = RawPeer.message(reply, Rpc.reply(call.xid).writeBytes(results));
        }
        send(Rpc.bytes(out), 0);
    }

    private void watch(ChannelFuture work, String mayNotFail) {
        pending++;
        work.addListener(
                done -> {
                    pending--;
                    if (!done.isSuccess() && channel.isActive()) {
                        reasonToClose = "work request of the peer: " + done.cause();
                    }
                    if (!done.isSuccess() && mayNotFail != null) {
                        run.refusedRead(mayNotFail);
                    }
                    run.poke();
                });
    }

    void release() {
        memory.forEach(ByteBuf::release);
        memory.clear();
    }

    // ------------------------------------------------------------------ sees

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf in = (ByteBuf) message;
        received++;
        try {
            take(in);
        } catch (RuntimeException e) {
            run.problem("message that cannot be taken apart: " + ByteBufUtil.hexDump(in) + ' ' + e);
        } finally {
            in.release();
        }
    }

    private void check(boolean isRight, String what, ByteBuf in) {
        if (!isRight) {
            run.problem(what + ": " + ByteBufUtil.hexDump(in));
        }
    }

    private void take(ByteBuf in) {
        int length = in.readableBytes();
        check(length >= 16 && length <= THRESHOLD, "length " + length, in);
        header.decodeFixed(in, in.readerIndex());
        int version = header.version();
        int proc = header.proc();
        boolean isSentAsCall = run.wire().isNextCall();
        if (proc == TransportHeader.RDMA_ERROR) {
            int code = in.getInt(16);
            int bytes = code == RdmaErrorMessage.ERR_VERS ? 28 : 20;
            check(length == bytes && code >= 1 && code <= 3, "error", in);
            answered(in);
            return;
        }
        check(version == 1 || (version == 2 && run.speaksTwo()), "version", in);
        if (version == 2 && !hasSeenTwo) {
            check(length <= VersionInlineThresholds.PROBE_THRESHOLD, "long first message", in);
            hasSeenTwo = true;
        }
        if (version == 1 && proc == TransportHeader.RDMA_DONE) {
            check(length == TransportHeader.DONE_BYTES, "RDMA_DONE", in);
            completions++;
            return;
        }
        if (version == 2 && proc == TransportHeader.RDMA2_OPTIONAL) {
            takeOption(in);
            return;
        }
        check(proc == 0 || proc == 1, "procedure", in);
        int payload = header.decodeLists(in, TransportHeader.FIXED_BYTES, length, 4096);
        check(payload > 0, header.problem(), in);
        check(proc == 0 || payload == length, "RDMA_NOMSG with a payload", in);
        check(proc == 1 || in.getInt(payload) == header.xid(), "XID of the payload", in);
        boolean isCall =
                version == 2
                        ? header.direction() == OncRpcHeaderDecoder.CALL
                        : proc == 0
                                ? in.getInt(payload + 4) == OncRpcHeaderDecoder.CALL
                                : header.reads().hasChunkAt(0) && isSentAsCall;
        check(isCall == isSentAsCall, "direction", in);
        if (isCall) {
            takeCall(in);
        } else {
            takeReply(in);
        }
    }

    private void takeOption(ByteBuf in) {
        check(
                OptionalOperationMessage.problem(in, false, OptionalOperationHandler.Payload.ANY)
                        == null,
                "option",
                in);
        int direction = in.getInt(16);
        check(
                direction == OncRpcHeaderDecoder.CALL || direction == OncRpcHeaderDecoder.REPLY,
                "option",
                in);
        if (direction == OncRpcHeaderDecoder.REPLY) {
            answered(in);
        } else if (OptionalOperationMessage.type(in) == FuzzRun.COMPLETION) {
            completions++;
        } else {
            header.clear();
            takeCall(in);
        }
    }

    private void takeCall(ByteBuf in) {
        check(header.credit() == run.requested(), "requested credits", in);
        TransportHeader lists = new TransportHeader();
        lists.reads().clear();
        lists.writes().copy(header.writes());
        lists.reply().copy(header.reply());
        int option =
                header.proc() == TransportHeader.RDMA2_OPTIONAL
                        ? OptionalOperationMessage.type(in)
                        : 0;
        calls.add(new Called(header.xid(), header.version(), header.proc(), option, lists));
        remember(header.reads());
        remember(header.writes());
        remember(header.reply());
    }

    private void remember(SegmentList list) {
        for (int i = 0; i < list.segments(); i++) {
            theirs.add(new Range(list.handle(i), list.offset(i), null));
        }
    }

    private void takeReply(ByteBuf in) {
        answered(in);
        ReadList reads = header.reads();
        if (reads.segments() > 0) {
            check(run.offersReplies(), "reply in Read chunks", in);
            List<Range> ranges = new ArrayList<>();
            int[] lengths = new int[reads.segments()];
            for (int i = 0; i < lengths.length; i++) {
                ranges.add(new Range(reads.handle(i), reads.offset(i), null));
                lengths[i] = (int) reads.length(i);
            }
            theirs.addAll(ranges);
            boolean isWhole = header.writes().sum(0, header.writes().segments()) == 0;
            byte[] content = isWhole ? run.user().lastReply(header.xid()) : null;
            offered.add(new Offered(header.xid(), header.version(), ranges, lengths, content));
        }
    }

    /** At most once for each message that was sent with the XID. */
    private void answered(ByteBuf in) {
        int xid = in.getInt(0);
        int grant = in.getInt(8);
        check(grant >= 1 && grant <= run.mostGranted(), "grant", in);
        promised = Math.max(promised, ++allAnswers + grant);
        int answers = answersByXid.merge(xid, 1, Integer::sum);
        check(answers <= sentByXid.getOrDefault(xid, 0), "answer to nothing", in);
    }

    /** Whether this side may have sent more calls than it was granted: not if it has not sent so many messages. */
    boolean mayHaveOverrun() {
        return sent > Math.max(promised, run.mostGranted());
    }

    boolean isAnswered(int xid) {
        return answersByXid.containsKey(xid);
    }

    List<Range> known() {
        return theirs;
    }

    // ------------------------------------------------------------------ words

    @Override
    public int xid(int n, int word) {
        return calls.isEmpty() ? word : calls.get(n % calls.size()).xid;
    }

    @Override
    public Range own(int n) {
        return own.isEmpty() ? null : own.get(n % own.size());
    }

    @Override
    public Range theirs(int n) {
        return theirs.isEmpty() ? null : theirs.get(n % theirs.size());
    }
}
