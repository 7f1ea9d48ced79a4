// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.WorkRequestFailedException;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.TransportHeader;

/** The upper layer of a fuzzed connection, which sees each call end once, and nothing that nobody has sent. */
final class FuzzUser extends ChannelInboundHandlerAdapter {

    /** Types of optional operations: with nothing, an RPC message, anything behind their header. */
    static final int[] OPTIONS = {0x0AFF0001, 0x0AFF0002, 0x0AFF0003};

    /** An optional operation whose information begins so is refused, or held back. */
    private static final byte REFUSED = '!';

    private static final byte HELD = 'w';
    private static final int FIRST_XID = 0x0A0B0C01;
    private static final int MOST_REPLY = 0x3fff;
    private static final int NFS_REPLY = 0x8000;

    /** What an operation throws that does not like its call. */
    private static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1L;
    }

    private static final class Call {
        String end;
        boolean isDelivered;
        Future<ByteBuf> callback;
    }

    private final FuzzRun run;
    private final Map<Object, Call> calls = new LinkedHashMap<>();
    private final List<ByteBuf> written = new ArrayList<>();
    private final Set<Integer> held = new LinkedHashSet<>();
    private final Map<Integer, OptionalOperationMessage> heldOptions = new LinkedHashMap<>();
    private final Map<Integer, byte[]> replies = new HashMap<>();
    private final Map<Integer, List<byte[]>> expected = new HashMap<>();
    private final Set<Integer> unexpected = new LinkedHashSet<>();
    private final TransportHeader header = new TransportHeader();
    private RdmaChannel channel;
    private RpcRdmaReverseRequester callback;
    private Future<Void> closed;
    private int nextXid = FIRST_XID;
    private boolean isInactive;

    FuzzUser(FuzzRun run) {
        this.run = run;
    }

    // ------------------------------------------------------------------ life cycle

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        channel = (RdmaChannel) ctx.channel();
        callback = run.opened(channel);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        isInactive = true;
        if (callback == null) {
            for (Call call : calls.values()) {
                call.end = call.end == null ? "lost" : call.end;
            }
        }
        held.clear();
        releaseOptions();
    }

    private void releaseOptions() {
        heldOptions.values().forEach(ReferenceCountUtil::release);
        heldOptions.clear();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        boolean isNamed =
                cause instanceof RefusedException
                        || cause instanceof IOException; // why the device has ended the connection
        if (!isNamed) {
            run.problem("exception in the pipeline", cause);
        }
    }

    /** The connection is closed, and nobody comes back. */
    void close() {
        if (callback != null) {
            closed = callback.close();
        }
        releaseOptions();
    }

    /** All calls have ended, and all memory is given back. */
    void checkEnd() {
        calls.forEach(
                (xid, call) -> {
                    if (call.end == null && (call.callback == null || !call.callback.isDone())) {
                        run.problem("call " + xid + " never ends");
                    }
                });
        if (callback != null && (callback.outstandingCalls() != 0 || !closed.isDone())) {
            run.problem("callback that does not close: " + callback.outstandingCalls());
        }
        for (ByteBuf message : written) {
            if (message.refCnt() != 0) {
                run.problem("message with " + message.refCnt() + " references: " + message);
            }
        }
    }

    // ------------------------------------------------------------------ received

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (isInactive) {
            run.problem("message after channelInactive: " + message);
        }
        try {
            if (message instanceof CallFailureMessage failure) {
                delivered(failure.xid(), "failed: " + failure.cause());
                return;
            }
            ByteBuf payload = (ByteBuf) message;
            int xid = Rpc.xid(payload);
            checkSent(xid, ByteBufUtil.getBytes(payload));
            if (OncRpcHeaderDecoder.isOfType(payload, OncRpcHeaderDecoder.REPLY)) {
                delivered(xid, "replied");
            } else if (!OncRpcHeaderDecoder.isOfType(payload, OncRpcHeaderDecoder.CALL)) {
                run.problem("delivered: " + ByteBufUtil.hexDump(payload));
            } else if (!held.add(xid)) {
                run.problem("call " + xid + " came twice");
            }
        } finally {
            ReferenceCountUtil.release(message);
        }
    }

    private void delivered(Object xid, String how) {
        Call call = calls.get(xid);
        if (call == null || call.end != null) {
            run.problem(
                    how + ", but call " + xid + " is " + (call == null ? "not ours" : call.end));
            return;
        }
        call.end = how;
        run.wire().checkFenced();
    }

    /** What the peer is about to send, so far as one can know what has to be delivered of it. */
    void expect(byte[] message, Collection<FuzzPeer.Range> memory) {
        if (message.length < TransportHeader.MINIMUM_BYTES) {
            return;
        }
        ByteBuf in = Unpooled.wrappedBuffer(message);
        header.decodeFixed(in, 0);
        int payload = header.decodeLists(in, TransportHeader.FIXED_BYTES, message.length, 4096);
        if (payload < 0) {
            return;
        }
        long placed =
                header.writes().sum(0, header.writes().segments()) + header.reply().chunkLength();
        boolean isReply = header.proc() == TransportHeader.RDMA_MSG && placed == 0;
        boolean isCall =
                message.length - payload >= 8
                        && in.getInt(payload + 4) == OncRpcHeaderDecoder.CALL
                        && header.proc() == TransportHeader.RDMA_MSG;
        byte[] content =
                header.reads().segments() == 0 && (isReply || isCall)
                        ? Arrays.copyOfRange(message, payload, message.length)
                        : header.proc() == TransportHeader.RDMA_NOMSG
                                        && header.reads().segments() > 0
                                        && header.writes().chunks() == 0
                                ? inMemory(memory)
                                : null;
        if (content == null) {
            unexpected.add(header.xid());
        } else {
            expected.computeIfAbsent(header.xid(), xid -> new ArrayList<>()).add(content);
        }
    }

    /** What a Position Zero Read chunk holds; null when it is not all known. */
    private byte[] inMemory(Collection<FuzzPeer.Range> memory) {
        ByteBuf content = Unpooled.buffer();
        ReadList reads = header.reads();
        for (int i = 0; i < reads.segments(); i++) {
            int handle = reads.handle(i);
            FuzzPeer.Range range =
                    memory.stream().filter(r -> r.handle() == handle).findFirst().orElse(null);
            long start = range == null ? -1 : reads.offset(i) - range.offset();
            boolean isInside =
                    range != null
                            && start >= 0
                            && start <= range.content().length
                            && reads.length(i) <= range.content().length - start;
            if (!isInside || reads.position(i) != 0) {
                return null;
            }
            content.writeBytes(range.content(), (int) start, (int) reads.length(i));
        }
        return ByteBufUtil.getBytes(content);
    }

    private void checkSent(int xid, byte[] message) {
        List<byte[]> possible = expected.getOrDefault(xid, List.of());
        if (!unexpected.contains(xid)
                && possible.stream().noneMatch(sent -> Arrays.equals(sent, message))) {
            run.problem("delivered what nobody has sent: " + ByteBufUtil.hexDump(message));
        }
    }

    /** What was written last with this XID; XIDs may come again. */
    byte[] lastReply(int xid) {
        return replies.get(xid);
    }

    // ------------------------------------------------------------------ calls

    void call(int kind) {
        int xid = nextXid++;
        ByteBuf message = message(kind % 6, xid);
        written.add(message);
        if (callback != null) {
            callBack(xid, message);
            return;
        }
        Call call = new Call();
        calls.put(xid, call);
        watch(call, xid, channel.writeAndFlush(message));
    }

    private void callBack(int number, ByteBuf message) {
        Call call = new Call();
        calls.put("callback " + number, call);
        call.callback = callback.call(message);
        call.callback.addListener(
                (Future<ByteBuf> done) -> {
                    if (call.isDelivered) {
                        run.problem("callback ended twice");
                    }
                    call.isDelivered = true;
                    if (done.isSuccess()) {
                        ByteBuf reply = done.getNow();
                        checkSent(Rpc.xid(reply), ByteBufUtil.getBytes(reply));
                        reply.release();
                    } else {
                        checkNamed(done.cause(), "callback");
                    }
                    call.end = call.end == null ? String.valueOf(done.cause()) : call.end;
                    run.wire().checkFenced();
                    run.poke();
                });
    }

    private static ByteBuf message(int kind, int xid) {
        return switch (kind) {
            case 0 -> Rpc.echo(xid, 8);
            case 1 -> Rpc.echo(xid, 3000);
            case 2 -> Rpc.echo(xid, 6000);
            case 3 -> Rpc.read3(xid, 8192);
            case 4 -> Rpc.write3(xid, Rpc.random(5001));
            default -> ItemsBinding.call(xid, ItemsBinding.LONG_TAIL | 2, 8, 4001);
        };
    }

    private void watch(Call call, int xid, ChannelFuture write) {
        write.addListener(
                done -> {
                    if (done.isSuccess()) {
                        return;
                    }
                    checkNamed(done.cause(), "call " + xid);
                    if (call.end == null) {
                        call.end = "failed: " + done.cause();
                    } else if (!call.end.equals("lost") && !call.end.equals("cancelled")) {
                        run.problem("call " + xid + " fails, but is " + call.end);
                    }
                    run.poke();
                });
    }

    private void checkNamed(Throwable cause, String what) {
        boolean isNamed =
                (cause instanceof RpcRdmaException && !(cause instanceof MarshalException))
                        || cause instanceof ClosedChannelException
                        || cause instanceof WorkRequestFailedException
                        || cause instanceof CancellationException
                        || (cause instanceof IllegalStateException
                                && cause.getMessage().startsWith("the responder speaks version"));
        if (!isNamed) {
            run.problem(what + " ends with", cause);
        }
    }

    void cancel(int n, boolean fences) {
        List<Object> out = outstanding();
        if (out.isEmpty()) {
            return;
        }
        Object xid = out.get(n % out.size());
        Call call = calls.get(xid);
        if (call.callback != null) {
            call.end = "cancelled";
            call.callback.cancel(false);
            return;
        }
        call.end = "cancelled";
        channel.writeAndFlush(new RpcRdmaCancel((Integer) xid, fences));
        if (fences) {
            run.wire().checkFenced((Integer) xid);
        }
    }

    /** The calls that have not ended. */
    List<Object> outstanding() {
        return calls.entrySet().stream()
                .filter(call -> call.getValue().end == null)
                .map(Map.Entry::getKey)
                .toList();
    }

    void option(int kind, byte[] information) {
        if (callback != null || !run.speaksTwo()) {
            return; // a callback is for RPC
        }
        int xid = nextXid++;
        int type = OPTIONS[kind % OPTIONS.length];
        ByteBuf payload =
                kind % OPTIONS.length == 0
                        ? Unpooled.EMPTY_BUFFER
                        : kind % OPTIONS.length == 1
                                ? Rpc.echo(xid, 8)
                                : Unpooled.copiedBuffer(information);
        if (payload != Unpooled.EMPTY_BUFFER) {
            written.add(payload);
        }
        Call call = new Call();
        calls.put(xid, call);
        watch(
                call,
                xid,
                channel.writeAndFlush(
                        OptionalOperationMessage.call(xid, type, information, payload)));
    }

    // ------------------------------------------------------------------ replies

    Set<Integer> held() {
        return held;
    }

    /**
     * @param length of the results; with {@link #NFS_REPLY} it is one to a READ
     */
    void reply(int n, int length) {
        if (held.isEmpty()) {
            return;
        }
        List<Integer> xids = List.copyOf(held);
        int xid = xids.get(n % xids.size());
        held.remove(xid);
        byte[] data = Rpc.random(length & MOST_REPLY);
        ByteBuf heap =
                (length & NFS_REPLY) != 0
                        ? Rpc.read3Reply(xid, data)
                        : Rpc.reply(xid).writeBytes(data);
        ByteBuf message = (length & 1) == 0 ? heap : ReadChunks.direct(heap);
        replies.put(xid, ByteBufUtil.getBytes(message));
        written.add(message);
        channel.writeAndFlush(message)
                .addListener(
                        done -> {
                            if (!done.isSuccess()) {
                                checkNamed(done.cause(), "reply " + xid);
                            }
                            run.poke();
                        });
    }

    void answerOption(int n) {
        if (heldOptions.isEmpty()) {
            return;
        }
        List<Integer> xids = List.copyOf(heldOptions.keySet());
        OptionalOperationMessage call = heldOptions.remove(xids.get(n % xids.size()));
        answer(channel, call, new byte[3]);
    }

    int unanswered() {
        return held.size() + heldOptions.size();
    }

    boolean hasHeldOptions() {
        return !heldOptions.isEmpty();
    }

    boolean takesMessages(int type) {
        return type == OPTIONS[1];
    }

    private void answer(Channel to, OptionalOperationMessage call, byte[] information) {
        ByteBuf payload =
                takesMessages(call.type())
                        ? Rpc.reply(call.xid())
                        : call.content().retainedDuplicate();
        call.release();
        to.writeAndFlush(call.reply(information, payload))
                .addListener(
                        done -> {
                            if (!done.isSuccess()) {
                                checkNamed(done.cause(), "option");
                            }
                            run.poke();
                        });
    }

    /** The optional operations of this side. */
    VersionTwoConfig.Builder versionTwo() {
        VersionTwoConfig.Builder two =
                VersionTwoConfig.builder().probeTimeoutMillis(Integer.MAX_VALUE);
        OptionalOperationHandler.Payload[] payloads = {
            OptionalOperationHandler.Payload.NONE,
            OptionalOperationHandler.Payload.RPC_MESSAGE,
            OptionalOperationHandler.Payload.ANY
        };
        for (int i = 0; i < OPTIONS.length; i++) {
            two.option(OPTIONS[i], new Operation(payloads[i]));
        }
        return two;
    }

    private final class Operation implements OptionalOperationHandler {
        private final Payload payload;

        Operation(Payload payload) {
            this.payload = payload;
        }

        @Override
        public Payload payload() {
            return payload;
        }

        @Override
        public void received(Channel from, OptionalOperationMessage message)
                throws RefusedException {
            if (message.isReply()) {
                message.release();
                delivered(message.xid(), "option replied");
                return;
            }
            byte[] information = message.information();
            if (information.length > 0 && information[0] == REFUSED) {
                message.release();
                throw new RefusedException();
            }
            if (information.length > 0 && information[0] == HELD) {
                if (heldOptions.put(message.xid(), message) != null) {
                    run.problem("option " + message.xid() + " came twice");
                }
                return;
            }
            answer(from, message, information);
        }
    }
}
