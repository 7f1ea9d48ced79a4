// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.TransportHeader;

/** The end of a connection that a test works by hand: Sends as bytes, memory by handle. */
final class RawPeer implements AutoCloseable {

    /** What the memory of a chunk holds before anybody has written to it. */
    static final byte UNTOUCHED = 0x5A;

    final RdmaChannel channel;
    final RpcPair.Inbox inbox;

    /** The header of the message taken last. */
    final TransportHeader header = new TransportHeader();

    /** The payload of the message taken last. */
    byte[] payload = {};

    private final List<ByteBuf> held = new ArrayList<>();

    RawPeer(RdmaChannel channel, RpcPair.Inbox inbox) {
        this.channel = channel;
        this.inbox = inbox;
    }

    static RawPeer client(RpcPair pair) {
        return new RawPeer(pair.clientChannel, pair.client);
    }

    static RawPeer server(RpcPair pair) {
        return new RawPeer(pair.serverChannel, pair.server);
    }

    static TransportHeader header(int xid, int proc) {
        return new TransportHeader().set(xid, 32, proc);
    }

    static ByteBuf message(TransportHeader header, ByteBuf payload) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        out.writeBytes(payload);
        payload.release();
        return out;
    }

    static ByteBuf nothing() {
        return Unpooled.buffer(0);
    }

    void send(ByteBuf message) {
        channel.writeAndFlush(message);
    }

    void send(TransportHeader header, ByteBuf payload) {
        send(message(header, payload));
    }

    /** Takes the next message apart; returns its length. */
    int take() throws InterruptedException {
        ByteBuf message = inbox.takeBuffer();
        try {
            int length = message.readableBytes();
            header.decodeFixed(message, 0);
            payload = new byte[0];
            if (header.proc() == TransportHeader.RDMA_MSG
                    || header.proc() == TransportHeader.RDMA_NOMSG) {
                int at = header.decodeLists(message, TransportHeader.FIXED_BYTES, length, 4096);
                assertThat(at).as(header.problem()).isPositive();
                payload = ByteBufUtil.getBytes(message, at, length - at);
            }
            return length;
        } finally {
            message.release();
        }
    }

    /** The lists of the call taken last, with nothing used of them. */
    TransportHeader mirrored(int proc) {
        TransportHeader reply = new TransportHeader().set(header.xid(), 16, proc);
        reply.writes().copy(header.writes());
        reply.reply().copy(header.reply());
        for (int i = 0; i < reply.writes().segments(); i++) {
            reply.writes().length(i, 0);
        }
        for (int i = 0; i < reply.reply().segments(); i++) {
            reply.reply().length(i, 0);
        }
        return reply;
    }

    /** Memory for a chunk, held until this peer is closed. */
    ByteBuf memory(int capacity) throws Exception {
        ByteBuf memory = on(channel, () -> channel.registeredBuffer(Math.max(1, capacity)));
        held.add(memory);
        byte[] fill = new byte[memory.capacity()];
        Arrays.fill(fill, UNTOUCHED);
        memory.setBytes(0, fill);
        return memory;
    }

    ByteBuf memory(byte[] content) throws Exception {
        ByteBuf memory = memory(content.length);
        memory.setBytes(0, content);
        return memory;
    }

    int expose(ByteBuf memory, RemoteAccess access) throws Exception {
        return on(channel, () -> channel.expose(memory, 0, memory.capacity(), access));
    }

    long offset(int handle) throws Exception {
        return on(channel, () -> channel.exposedOffset(handle));
    }

    boolean isExposed(int handle) throws Exception {
        return on(channel, () -> channel.isExposed(handle));
    }

    void invalidate(int handle) throws Exception {
        on(
                channel,
                () -> {
                    channel.invalidate(handle);
                    return null;
                });
    }

    /** Writes to the other side's memory; with the next Send at the latest it is there. */
    void write(int handle, long offset, byte[] data) throws Exception {
        on(
                channel,
                () -> {
                    ByteBuf content = channel.registeredBuffer(data.length).writeBytes(data);
                    return channel.write(new RdmaWrite(content, handle, offset));
                });
    }

    /** Reads the other side's memory. */
    byte[] read(int handle, long offset, int length) throws Exception {
        ByteBuf sink = on(channel, () -> channel.registeredBuffer(length).writerIndex(length));
        try {
            boolean done =
                    channel.writeAndFlush(new RdmaRead(sink.retain(), handle, offset))
                            .await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(done).isTrue();
            return ByteBufUtil.getBytes(sink, 0, length);
        } finally {
            sink.release();
        }
    }

    @Override
    public void close() {
        held.forEach(ByteBuf::release);
        held.clear();
    }
}
