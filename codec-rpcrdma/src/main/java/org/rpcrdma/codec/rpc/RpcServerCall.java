// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.internal.CallAnsweredException;
import org.rpcrdma.codec.internal.DroppedCallListener;
import org.rpcrdma.codec.internal.MessageJoin;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;

/**
 * A received call of a program: who calls, with which arguments, and the means to answer it, once. The call owns its
 * message until it is answered: credential and arguments are not to be used afterwards.
 *
 * <p>Not thread-safe, but may be handed from one thread to another; the answer may come from any thread.
 */
public final class RpcServerCall {

    private static final AtomicIntegerFieldUpdater<RpcServerCall> ANSWERED =
            AtomicIntegerFieldUpdater.newUpdater(RpcServerCall.class, "answered");

    /** Longer results are not copied behind their header. */
    private static final int COPIED_RESULT_BYTES = 4096;

    private static final int FIRST_RESULT_BYTES = 232;
    private static final int CREDENTIAL_OFFSET = 24;

    /** Whoever waits for a reply that there was no memory to send asks again on another connection. */
    private static final ChannelFutureListener REPORT_ERROR =
            written -> {
                if (written.cause() instanceof Error) {
                    written.channel().pipeline().fireExceptionCaught(written.cause());
                }
            };

    private final Channel channel;
    private final ReferenceCounted message;

    /** At the arguments, once the verifier was skipped. */
    private final ByteBuf payload;

    private final int start;

    /** Outlives the message. */
    private final int xid;

    private volatile int answered;

    /**
     * A call whose header is complete as far as lengths go, or ends behind the RPC version.
     *
     * @param message a buffer or an {@link RpcMessage}, taken over
     * @param payload of the message, at the XID
     */
    RpcServerCall(Channel channel, ReferenceCounted message, ByteBuf payload) {
        this.channel = channel;
        this.message = message;
        this.payload = payload;
        start = payload.readerIndex();
        xid = payload.getInt(start);
    }

    // ------------------------------------------------------------------ header

    /** {@return the XID} */
    public int xid() {
        return xid;
    }

    /** {@return the program, unsigned} */
    public int program() {
        return payload.getInt(start + 12);
    }

    /** {@return the version of the program, unsigned} */
    public int version() {
        return payload.getInt(start + 16);
    }

    /** {@return the procedure, unsigned} */
    public int procedure() {
        return payload.getInt(start + 20);
    }

    /** {@return the flavor of the credential, unsigned} */
    public int flavor() {
        return payload.getInt(start + CREDENTIAL_OFFSET);
    }

    /** {@return a copy of the credential} */
    public OpaqueAuth credential() {
        return authAt(start + CREDENTIAL_OFFSET);
    }

    /** {@return a copy of the verifier} */
    public OpaqueAuth verifier() {
        return authAt(verifierIndex());
    }

    private OpaqueAuth authAt(int index) {
        try {
            return OpaqueAuth.read(payload.slice(index, payload.writerIndex() - index));
        } catch (MalformedXdrException e) {
            throw new IllegalStateException(e); // the lengths were checked
        }
    }

    private int verifierIndex() {
        int length = payload.getInt(start + CREDENTIAL_OFFSET + 4);
        return start + CREDENTIAL_OFFSET + 8 + (length + 3 & ~3);
    }

    /** {@return the channel that the call has come by} */
    public Channel channel() {
        return channel;
    }

    /** Whether credential and verifier are AUTH_NONE; 16 bytes for them are there. */
    boolean isFromNobody() {
        int credential = start + CREDENTIAL_OFFSET;
        return payload.getLong(credential) == 0 && payload.getLong(credential + 8) == 0;
    }

    /** As {@link RpcServerAuthenticator#NONE_OR_SYS}; allocates nothing. */
    int checkUnprovenCredential() {
        int flavor = flavor();
        int length = payload.getInt(start + CREDENTIAL_OFFSET + 4);
        if (flavor != OpaqueAuth.AUTH_NONE && flavor != OpaqueAuth.AUTH_SYS) {
            return RpcServerAuthenticator.AUTH_REJECTEDCRED;
        }
        int body = start + CREDENTIAL_OFFSET + 8;
        boolean isValid =
                flavor == OpaqueAuth.AUTH_NONE
                        ? length == 0
                        : AuthSys.isWellFormed(payload, body, length);
        if (!isValid) {
            return RpcServerAuthenticator.AUTH_BADCRED;
        }
        int verifier = verifierIndex();
        int verifierFlavor = payload.getInt(verifier);
        boolean isUnproven =
                verifierFlavor == OpaqueAuth.AUTH_NONE || verifierFlavor == OpaqueAuth.AUTH_SYS;
        return isUnproven && payload.getInt(verifier + 4) == 0
                ? RpcServerAuthenticator.AUTH_OK
                : RpcServerAuthenticator.AUTH_BADVERF;
    }

    // ------------------------------------------------------------------ arguments

    /** {@return the arguments in XDR, from the reader index on; borrowed} */
    public ByteBuf arguments() {
        return payload;
    }

    /**
     * Reads the arguments.
     *
     * @param <T> what they become
     * @param decoder of the arguments
     * @return what was read
     * @throws IOException what the decoder throws; a {@link MalformedXdrException} that leaves the procedure is
     *     answered with GARBAGE_ARGS
     */
    public <T> T read(XdrDecoder<T> decoder) throws IOException {
        return decoder.read(new XdrReader(payload));
    }

    /**
     * {@return the message with the arguments that have memory of their own, borrowed ({@link
     * org.rpcrdma.codec.RpcRdmaConfig.Builder#annotatedCalls}); {@code null} if they are all in {@link #arguments}}
     */
    public RpcMessage message() {
        return message instanceof RpcMessage parts ? parts : null;
    }

    // ------------------------------------------------------------------ answers

    /** {@return whether the call was answered or dropped} */
    public boolean isAnswered() {
        return answered != 0;
    }

    /**
     * Answers without results.
     *
     * @throws IllegalStateException if the call was answered
     */
    public void reply() {
        reply(Unpooled.EMPTY_BUFFER);
    }

    /**
     * Answers with results.
     *
     * @param results in XDR, a multiple of 4 bytes; taken over. Short ones are copied behind the header.
     * @throws IllegalStateException if the call was answered
     */
    public void reply(ByteBuf results) {
        ByteBuf reply;
        try {
            int length = results.readableBytes();
            boolean isCopied = length <= COPIED_RESULT_BYTES;
            ByteBuf header = newReply(Status.SUCCESS, isCopied ? length : 0);
            reply = MessageJoin.join(header, results, isCopied);
        } finally {
            results.release();
        }
        answer(reply);
    }

    /**
     * Answers with results that write themselves.
     *
     * @param results written on this thread, before this method returns, and before the arguments are released
     * @throws IllegalStateException if the call was answered
     */
    public void reply(XdrEncodable results) {
        reply(FIRST_RESULT_BYTES, results);
    }

    /**
     * As {@link #reply(XdrEncodable)}, with memory for results of about this length, which is not made larger and
     * copied while they are written.
     *
     * @param expectedBytes of the results in XDR, from 0, without items ({@link XdrWriter#writeItem}); may be exceeded
     * @param results as there
     * @throws IllegalArgumentException if the length is negative
     * @throws IllegalStateException if the call was answered
     */
    public void reply(int expectedBytes, XdrEncodable results) {
        if (expectedBytes < 0) {
            throw new IllegalArgumentException(
                    "results of " + expectedBytes + " bytes (expected: at least 0)");
        }
        XdrWriter out = XdrWriter.ofMessage(newReply(Status.SUCCESS, expectedBytes));
        try {
            results.writeTo(out);
        } catch (Throwable t) {
            out.release();
            throw t;
        }
        answer(out.message());
    }

    /**
     * Answers with a reply that was built by somebody else. One that cannot be written is replaced by SYSTEM_ERR.
     *
     * @param reply a whole RPC reply with the XID of the call, a {@link ByteBuf} or an {@link RpcMessage}; taken over
     * @throws IllegalStateException if the call was answered
     */
    public void replyWhole(ReferenceCounted reply) {
        answer(reply);
    }

    /**
     * Answers with a status that has no results.
     *
     * @param status such as GARBAGE_ARGS, PROC_UNAVAIL or SYSTEM_ERR
     * @throws IllegalStateException if the call was answered
     */
    public void refuse(Status status) {
        refuse(ReplyHeader.of(xid(), status));
    }

    /**
     * Answers with AUTH_ERROR.
     *
     * @param authStatus an {@code auth_stat} (RFC 5531, 9), such as {@link RpcServerAuthenticator#AUTH_TOOWEAK}
     * @throws IllegalStateException if the call was answered
     */
    public void refuseAuthentication(int authStatus) {
        refuse(ReplyHeader.authError(xid(), authStatus));
    }

    void refuse(ReplyHeader header) {
        answer(encoded(header));
    }

    private ByteBuf encoded(ReplyHeader header) {
        ByteBuf reply = channel.alloc().buffer(header.encodedBytes());
        header.writeTo(reply);
        return reply;
    }

    /**
     * Ends the call without an answer: its caller asks again, or gives up. A duplicate request cache forgets the call,
     * so that it is executed when it comes again on another connection: whether or not it has been executed here.
     *
     * @throws IllegalStateException if the call was answered
     */
    public void drop() {
        end();
        message.release();
        try {
            OutstandingCallLimitHandler.callDropped(channel);
        } finally {
            DroppedCallListener.tell(channel, xid);
        }
    }

    /** Whether somebody looks at the reply. */
    boolean isAwaited() {
        return DroppedCallListener.isReplyAwaited(channel);
    }

    /** {@return whether this has ended the call, without an answer} False where it was answered meanwhile. */
    boolean tryDrop() {
        boolean isDropped = ANSWERED.compareAndSet(this, 0, 1);
        if (isDropped) {
            message.release();
        }
        return isDropped;
    }

    private ByteBuf newReply(Status status, int resultBytes) {
        requireUnanswered();
        ByteBuf reply = channel.alloc().buffer(Math.addExact(24, resultBytes));
        // Two words at a time: the XID and REPLY; the state of the reply; AUTH_NONE, whose end the
        // status follows.
        return reply.writeLong((long) xid() << 32 | 1)
                .writeLong((long) status.state << 32)
                .writeLong(Integer.toUnsignedLong(status.word));
    }

    /** To the channel and not to a context: a lost connection still shows the reply to the duplicate request cache. */
    private void answer(ReferenceCounted reply) {
        try {
            end();
        } catch (IllegalStateException e) {
            reply.release();
            throw e;
        }
        message.release();
        if (channel.eventLoop().inEventLoop()) {
            write(reply);
            return;
        }
        try {
            channel.eventLoop().execute(() -> write(reply));
        } catch (RejectedExecutionException e) {
            ReferenceCountUtil.release(
                    reply); // the event loop has ended, and the connection with it
        } catch (Throwable t) {
            ReferenceCountUtil.release(reply);
            channel.close(); // no memory for a task: nobody else can answer the call
            throw t;
        }
    }

    /**
     * A reply that the handlers below refuse for what it is fails before this returns, and gives way to SYSTEM_ERR: the
     * call, and its credit, are still theirs. Later its XID may be another call's; such replies are answered for by the
     * codec, or their connection is lost.
     */
    private void write(ReferenceCounted reply) {
        ChannelFuture written = channel.writeAndFlush(reply);
        if (!written.isDone()) {
            written.addListener(REPORT_ERROR);
        } else if (written.cause() instanceof Error) {
            channel.pipeline().fireExceptionCaught(written.cause());
        } else if (written.cause() != null && channel.isActive()) {
            UserExceptionLog.failed("the write of a reply", written.cause());
            replace();
        }
    }

    /** Where the call is answered the codec has done so by itself, with SYSTEM_ERR. */
    private void replace() {
        try {
            channel.writeAndFlush(encoded(ReplyHeader.of(xid, Status.SYSTEM_ERR)))
                    .addListener(
                            again -> {
                                if (!again.isSuccess()
                                        && !(again.cause() instanceof CallAnsweredException)) {
                                    channel.close();
                                }
                            });
        } catch (Throwable t) {
            channel.close();
        }
    }

    private void requireUnanswered() {
        if (answered != 0) {
            throw new IllegalStateException("the call was answered (expected: one answer)");
        }
    }

    private void end() {
        if (!ANSWERED.compareAndSet(this, 0, 1)) {
            throw new IllegalStateException("the call was answered (expected: one answer)");
        }
    }

    @Override
    public String toString() {
        return "RpcServerCall(" + channel + (isAnswered() ? ", answered)" : ")");
    }
}
