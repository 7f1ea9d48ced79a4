// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.oncrpc4j;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.CompletionHandler;
import java.nio.channels.WritableByteChannel;
import org.dcache.oncrpc4j.rpc.ReplyQueue;
import org.dcache.oncrpc4j.rpc.RpcAccepsStatus;
import org.dcache.oncrpc4j.rpc.RpcAuthError;
import org.dcache.oncrpc4j.rpc.RpcAuthException;
import org.dcache.oncrpc4j.rpc.RpcAuthStat;
import org.dcache.oncrpc4j.rpc.RpcMessageType;
import org.dcache.oncrpc4j.rpc.RpcReplyStatus;
import org.dcache.oncrpc4j.rpc.RpcTransport;
import org.dcache.oncrpc4j.xdr.Xdr;
import org.glassfish.grizzly.Buffer;
import org.glassfish.grizzly.FileChunk;
import org.glassfish.grizzly.asyncqueue.WritableMessage;

/** A channel as oncrpc4j sees it: calls and replies of both directions go out by it. Any thread. */
final class ChannelTransport implements RpcTransport {

    private static final int SYSTEM_ERROR_WORDS = 6;

    private final Channel channel;
    private final RequesterPendingReplyQueue replies;

    ChannelTransport(Channel channel) {
        this.channel = channel;
        replies = new RequesterPendingReplyQueue(channel);
    }

    Channel channel() {
        return channel;
    }

    RequesterPendingReplyQueue replies() {
        return replies;
    }

    /** No reply comes any more. */
    void lost() {
        replies.handleDisconnect(null);
    }

    /**
     * Answers a call of the peer with SYSTEM_ERR (RFC 5531, 9), in memory of its own: there may be none for anything
     * longer. When not even that can be sent the connection ends, for the peer has to know (RFC 8166, 4.5.4).
     */
    void answerSystemError(int xid) {
        try {
            ByteBuf reply = Unpooled.buffer(SYSTEM_ERROR_WORDS * Integer.BYTES);
            reply.writeInt(xid)
                    .writeInt(RpcMessageType.REPLY)
                    .writeInt(RpcReplyStatus.MSG_ACCEPTED);
            reply.writeLong(0); // no verifier
            channel.writeAndFlush(reply.writeInt(RpcAccepsStatus.SYSTEM));
        } catch (Throwable t) {
            channel.close();
        }
    }

    @Override
    public <A> void send(Xdr xdr, A attachment, CompletionHandler<Integer, ? super A> handler) {
        WritableMessage[] parts = xdr.asBufferWritableMessages();
        Buffer header = (Buffer) parts[0];
        int xid = header.getInt(header.position());
        boolean isReply = header.getInt(header.position() + 4) == RpcMessageType.REPLY;
        ByteBuf message;
        try {
            message = copy(parts); // at once: the caller uses the buffer again
        } catch (Throwable t) {
            // A file that has become shorter, or Netty's OutOfDirectMemoryError.
            if (isReply) {
                answerSystemError(xid); // oncrpc4j only logs the failure
            }
            handler.failed(t, attachment);
            return;
        }
        int length = message.readableBytes();
        channel.writeAndFlush(message)
                .addListener(
                        sent -> {
                            if (sent.isSuccess()) {
                                handler.completed(length, attachment);
                            } else {
                                handler.failed(sent.cause(), attachment);
                            }
                        });
    }

    private ByteBuf copy(WritableMessage[] parts) throws IOException {
        int length = 0;
        for (WritableMessage part : parts) {
            length += part.remaining();
        }
        ByteBuf message = channel.alloc().directBuffer(length);
        try {
            Sink sink = new Sink(message);
            for (WritableMessage part : parts) {
                copy(part, sink);
            }
            return message;
        } catch (Throwable t) {
            message.release();
            throw t;
        }
    }

    private static void copy(WritableMessage part, Sink sink) throws IOException {
        if (part instanceof Buffer buffer) {
            sink.write(buffer.toByteBuffer());
        } else if (part instanceof FileChunk file) {
            while (file.hasRemaining()) {
                if (file.writeTo(sink) <= 0) {
                    throw new EOFException("the file is shorter than its reply says: " + file);
                }
            }
            file.release();
        } else {
            throw new IOException("a part of a message of unknown kind: " + part.getClass());
        }
    }

    @Override
    public ReplyQueue getReplyQueue() {
        return replies;
    }

    @Override
    public boolean isOpen() {
        return channel.isActive();
    }

    @Override
    public InetSocketAddress getLocalSocketAddress() {
        return (InetSocketAddress) channel.localAddress();
    }

    @Override
    public InetSocketAddress getRemoteSocketAddress() {
        return (InetSocketAddress) channel.remoteAddress();
    }

    @Override
    public RpcTransport getPeerTransport() {
        return this;
    }

    @Override
    public void startTLS() throws RpcAuthException {
        throw new RpcAuthException(
                "RPC-over-RDMA has no TLS", new RpcAuthError(RpcAuthStat.AUTH_FAILED));
    }

    @Override
    public boolean isTLS() {
        return false;
    }

    @Override
    public String toString() {
        return channel.toString();
    }

    /** Appends to a buffer, never beyond its capacity. */
    private record Sink(ByteBuf target) implements WritableByteChannel {
        @Override
        public int write(ByteBuffer source) {
            int length = source.remaining();
            target.writeBytes(source);
            return length;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }
}
