// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/** Who may touch the memory of a call, and when (RFC 8166, 4.4 and 8.1). */
class FencingTest {

    private static final int COUNT = 8192;

    private RpcPair pair;
    private RawPeer server;

    @BeforeEach
    void connect() throws Exception {
        pair = RpcPair.rawServer(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
        server = RawPeer.server(pair);
    }

    @AfterEach
    void close() {
        server.close();
        pair.close();
    }

    private List<Integer> handles() {
        List<Integer> handles = new ArrayList<>();
        for (SegmentList list :
                List.of(server.header.reads(), server.header.writes(), server.header.reply())) {
            for (int i = 0; i < list.segments(); i++) {
                handles.add(list.handle(i));
            }
        }
        return handles;
    }

    private boolean isExposed(int handle) throws Exception {
        return on(pair.clientChannel, () -> pair.clientChannel.isExposed(handle));
    }

    private enum Ending {
        REPLY,
        LONG_REPLY,
        ERR_CHUNK,
        ERR_VERS,
        BAD_RESULT
    }

    private void end(Ending how) throws Exception {
        int xid = server.header.xid();
        switch (how) {
            case REPLY -> server.send(server.mirrored(0), Rpc.reply(xid).writeInt(70).writeInt(0));
            case LONG_REPLY -> {
                byte[] reply = ByteBufUtil.getBytes(Rpc.reply(xid).writeZero(5000));
                server.write(
                        server.header.reply().handle(0), server.header.reply().offset(0), reply);
                TransportHeader header = server.mirrored(1);
                header.reply().length(0, reply.length);
                server.send(header, RawPeer.nothing());
            }
            case ERR_CHUNK -> server.send(error(xid, 2));
            case ERR_VERS -> server.send(error(xid, 1).writeInt(1).writeInt(1));
            case BAD_RESULT -> {
                TransportHeader header = server.mirrored(0);
                if (header.writes().segments() > 0) {
                    header.writes().length(0, 5);
                }
                server.send(header, Rpc.reply(xid).writeInt(70).writeInt(0));
            }
        }
    }

    private static ByteBuf error(int xid, int code) {
        return Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(8).writeInt(4).writeInt(code);
    }

    /** A handler in the place of the user's: what it sees, it sees when it is called. */
    @ParameterizedTest
    @EnumSource
    @Proves({
        "V1-MR-01",
        "V1-MR-09",
        "V1-MR-10",
        "SEC-04",
        "SEC-05",
        "API-11",
        "V1-ERR-11",
        "V1-READ-08"
    })
    void memoryIsFencedBeforeTheHandlerIsTold(Ending how) throws Exception {
        LinkedBlockingQueue<Boolean> wasExposed = new LinkedBlockingQueue<>();
        List<Integer> handles = new ArrayList<>();
        ByteBuf argument = Unpooled.directBuffer().writeBytes(Rpc.write3(1, Rpc.random(COUNT)));
        on(
                pair.clientChannel,
                () ->
                        pair.clientChannel
                                .pipeline()
                                .addBefore(
                                        pair.clientChannel.pipeline().lastContext().name(),
                                        "watch",
                                        new ChannelInboundHandlerAdapter() {
                                            @Override
                                            public void channelRead(
                                                    ChannelHandlerContext ctx, Object message) {
                                                for (int handle : handles) {
                                                    wasExposed.add(
                                                            pair.clientChannel.isExposed(handle));
                                                }
                                                wasExposed.add(argument.refCnt() > 0);
                                                ctx.fireChannelRead(message);
                                            }
                                        }));
        // A Read chunk, a Write chunk or a Reply chunk, each with its ending.
        pair.call(
                how == Ending.LONG_REPLY
                        ? Rpc.echo(1, 8)
                        : how == Ending.REPLY ? argument : Rpc.read3(1, COUNT));
        if (how != Ending.REPLY) {
            argument.release();
        }
        server.take();
        assertThat(handles()).hasSize(1);
        for (int handle : handles()) {
            assertThat(isExposed(handle)).isTrue();
        }
        on(pair.clientChannel, () -> handles.addAll(handles()));
        end(how);
        Object told = pair.client.take();
        if (told instanceof ByteBuf reply) {
            reply.release();
        }
        assertThat(wasExposed).containsOnly(false).hasSize(2);
        assertThat(pair.clientConnection().callsInFlight()).isZero();
    }

    @Test
    @Proves({"V1-MR-02", "V1-READ-08", "API-10"})
    void argumentsStayAsTheyAreUntilTheReply() throws Exception {
        byte[] data = Rpc.random(COUNT);
        ByteBuf argument = Unpooled.directBuffer().writeBytes(Rpc.write3(1, data));
        pair.call(argument);
        server.take();
        int handle = server.header.reads().handle(0);
        long offset = server.header.reads().offset(0);
        // Other calls are queued meanwhile; the memory of this one is as it was.
        pair.call(Rpc.write3(2, Rpc.random(COUNT + 4)));
        for (int i = 0; i < 3; i++) {
            assertThat(server.read(handle, offset, COUNT)).isEqualTo(data);
            assertThat(argument.refCnt()).isEqualTo(1);
        }
        end(Ending.REPLY);
        pair.client.takeBytes();
        assertThat(argument.refCnt()).isZero();
    }

    @Test
    @Proves("V1-MR-02")
    void sinksAreNotTouchedWhileTheResponderMayWrite() throws Exception {
        pair.call(Rpc.read3(1, COUNT));
        server.take();
        ByteBuf sink =
                on(
                        pair.clientChannel,
                        () -> pair.clientConnection().call(1).chunks.sinks.memory(0));
        byte[] before = ByteBufUtil.getBytes(sink, 0, sink.capacity());
        byte[] data = Rpc.random(COUNT);
        server.write(server.header.writes().handle(0), server.header.writes().offset(0), data);
        // A call at a requester is dropped; that it was, shows that the Write before it
        // has arrived.
        server.send(server.mirrored(0), Rpc.echo(1, 0));
        int room = on(pair.clientChannel, () -> pair.clientConnection().call(1).roomAroundSink());
        System.arraycopy(data, 0, before, room, COUNT);
        Awaitility.await()
                .until(
                        () ->
                                pair.clientConnection()
                                                .value(RpcRdmaCounter.DROPPED_UNEXPECTED_CALL)
                                        == 1);
        assertThat(ByteBufUtil.getBytes(sink, 0, sink.capacity())).isEqualTo(before);
        assertThat(sink.refCnt()).isEqualTo(1);
    }

    @Test
    @Proves({"V1-WRITE-18", "V1-WRITE-11", "V1-WRITE-19"})
    void whatIsPastTheReturnedLengthIsNotBelieved() throws Exception {
        byte[] garbage = new byte[COUNT];
        Arrays.fill(garbage, (byte) 0xEE);
        pair.call(Rpc.read3(1, COUNT));
        server.take();
        server.write(server.header.writes().handle(0), server.header.writes().offset(0), garbage);
        end(Ending.REPLY); // unused
        assertThat(pair.client.takeBytes())
                .isEqualTo(ByteBufUtil.getBytes(Rpc.reply(1).writeInt(70).writeInt(0)));

        byte[] data = Rpc.random(5);
        pair.call(Rpc.read3(2, COUNT));
        server.take();
        int handle = server.header.writes().handle(0);
        long offset = server.header.writes().offset(0);
        server.write(handle, offset, garbage);
        server.write(handle, offset, data);
        TransportHeader header = server.mirrored(0);
        header.writes().length(0, 5);
        ByteBuf reply = Rpc.read3Reply(2, data);
        server.send(header, reply.writerIndex(reply.writerIndex() - 8));
        // The round-up is zeros of ours, not what lay there.
        assertThat(pair.client.takeBytes())
                .isEqualTo(ByteBufUtil.getBytes(Rpc.read3Reply(2, data)));
    }

    @Test
    @Proves({"V1-MR-05", "V1-MR-08", "SEC-03", "SEC-04"})
    void theSameMemoryIsExposedAnewForEachCall() throws Exception {
        byte[] call = ByteBufUtil.getBytes(Rpc.write3(1, Rpc.random(COUNT)));
        ByteBuf users =
                on(pair.clientChannel, () -> pair.clientChannel.registeredBuffer(call.length));
        users.writeBytes(call);
        List<Integer> seen = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            pair.call(users.retainedDuplicate());
            server.take();
            assertThat(handles()).hasSize(1);
            assertThat(seen).doesNotContain(handles().get(0));
            seen.addAll(handles());
            assertThat(server.header.reads().length(0)).isEqualTo(COUNT);
            end(Ending.REPLY);
            pair.client.takeBytes();
            for (int handle : seen) {
                assertThat(isExposed(handle)).isFalse();
            }
            assertThat(users.refCnt()).isEqualTo(1);
        }
        users.release();
    }

    private enum Trespass {
        READ_BEFORE,
        READ_BEYOND,
        WRITE_TO_READ_CHUNK,
        WRITE_BEFORE,
        WRITE_BEYOND,
        READ_FROM_WRITE_CHUNK,
        WRITE_BEYOND_REPLY_CHUNK,
        READ_FROM_REPLY_CHUNK
    }

    /** A chunk gives one right on its own bytes; the memory around it belongs to the same pool. */
    @ParameterizedTest
    @EnumSource
    @Proves({"SEC-03", "SEC-07", "SEC-08", "V1-MR-08"})
    void chunksGiveOneRightOnExactlyTheirBytes(Trespass how) throws Exception {
        boolean onRead =
                how == Trespass.READ_BEFORE
                        || how == Trespass.READ_BEYOND
                        || how == Trespass.WRITE_TO_READ_CHUNK;
        boolean onReply =
                how == Trespass.WRITE_BEYOND_REPLY_CHUNK || how == Trespass.READ_FROM_REPLY_CHUNK;
        pair.call(
                onRead
                        ? Rpc.write3(1, Rpc.random(COUNT))
                        : onReply ? Rpc.readdir3(1, COUNT) : Rpc.read3(1, COUNT));
        server.take();
        SegmentList list =
                onRead
                        ? server.header.reads()
                        : onReply ? server.header.reply() : server.header.writes();
        int handle = list.handle(0);
        long first = list.offset(0);
        long last = first + list.length(0) - 1;
        switch (how) {
            case READ_BEFORE -> server.read(handle, first - 1, 2);
            case READ_BEYOND -> server.read(handle, last, 2);
            case READ_FROM_WRITE_CHUNK, READ_FROM_REPLY_CHUNK -> server.read(handle, first, 1);
            case WRITE_TO_READ_CHUNK -> server.write(handle, first, new byte[1]);
            case WRITE_BEFORE -> server.write(handle, first - 1, new byte[2]);
            case WRITE_BEYOND, WRITE_BEYOND_REPLY_CHUNK -> server.write(handle, last, new byte[2]);
        }
        server.channel.flush();
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(pair.client.messages).isEmpty();
    }

    @Test
    @Proves({"SEC-13", "V1-MR-03", "SEC-06", "V1-CRED-16"})
    void afterACancelALateReplyCostsTheConnectionAndNotTheMemory() throws Exception {
        pair.call(Rpc.read3(1, COUNT));
        server.take();
        int handle = server.header.writes().handle(0);
        ByteBuf sink =
                on(
                        pair.clientChannel,
                        () -> pair.clientConnection().call(1).chunks.sinks.memory(0).retain());
        pair.call(new RpcRdmaCancel(1)).sync();
        assertThat(isExposed(handle)).isFalse();
        sink.setZero(0, sink.capacity());
        server.write(handle, server.header.writes().offset(0), Rpc.random(COUNT));
        server.send(server.mirrored(0), Rpc.reply(1));
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(ByteBufUtil.getBytes(sink, 0, sink.capacity()))
                .isEqualTo(new byte[sink.capacity()]);
        assertThat(pair.client.messages).isEmpty();
        assertThat(pair.clientConnection().value(RpcRdmaCounter.CALLS_CANCELLED)).isEqualTo(1);
        sink.release();
    }

    @NeedsDevice("keyPerConnection")
    @Test
    @Proves("SEC-01")
    void aHandleOfAnotherConnectionEndsTheOneItIsUsedOn() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcPair other = RpcPair.rawServer(config, config);
                RawPeer stranger = RawPeer.server(other)) {
            pair.call(Rpc.read3(1, COUNT));
            server.take();
            stranger.write(
                    server.header.writes().handle(0),
                    server.header.writes().offset(0),
                    Rpc.random(100));
            stranger.channel.flush();
            assertThat(other.client.awaitInactive()).isTrue();
            ByteBuf sink =
                    on(
                            pair.clientChannel,
                            () -> pair.clientConnection().call(1).chunks.sinks.memory(0));
            assertThat(ByteBufUtil.getBytes(sink, 4096, 100)).isNotEqualTo(Rpc.random(100));
            end(Ending.REPLY);
            assertThat(pair.client.takeXid()).isEqualTo(1);
        }
    }

    @Test
    @Proves({"V1-READ-07", "V1-CHUNK-14"})
    void noReadIsOutWhenACallIsRefused() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcPair refusing = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(refusing)) {
            for (int xid = 1; xid <= 20; xid++) {
                int handle = client.expose(client.memory(200_000), RemoteAccess.READ);
                TransportHeader call = RawPeer.header(xid, 0);
                for (int i = 0; i < 50; i++) {
                    call.reads().add(44, handle, 4000, client.offset(handle) + 4000L * i);
                }
                client.send(call, Rpc.echo(xid, 4)); // nothing of that program is eligible
                assertThat(client.take()).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
                // A Read that were still out would end the connection now.
                client.invalidate(handle);
            }
            client.send(RawPeer.header(99, 0), Rpc.echo(99, 0));
            assertThat(refusing.server.takeXid()).isEqualTo(99);
            assertThat(refusing.serverConnection().value(RpcRdmaCounter.READ_BYTES))
                    .isEqualTo(20 * 200_000);
            assertThat(refusing.client.inactive.poll(0, TimeUnit.SECONDS)).isNull();
        }
    }
}
