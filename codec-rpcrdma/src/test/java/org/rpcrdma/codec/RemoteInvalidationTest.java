// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.TransportHeader;

/** Send With Invalidate is for connections whose two sides have announced it (RFC 8797, 4.1). */
@NeedsDevice("remoteInvalidation")
class RemoteInvalidationTest {

    private static RpcRdmaConfig announcing(boolean invalidation) {
        return RpcRdmaConfig.builder().remoteInvalidation(invalidation).build();
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    @Proves({"PD-08", "PD-09"})
    void aResponderInvalidatesWhenBothSidesHaveAnnouncedIt(boolean requester, boolean responder)
            throws Exception {
        try (RpcPair pair = RpcPair.rawClient(announcing(requester), announcing(responder));
                RawPeer client = RawPeer.client(pair)) {
            ByteBuf memory = client.memory(100);
            int handle = client.expose(memory, RemoteAccess.WRITE);
            TransportHeader call = RawPeer.header(5, TransportHeader.RDMA_MSG);
            call.reply().setPresent();
            call.reply().add(handle, 100, client.offset(handle));
            client.send(call, Rpc.echo(5, 8));
            assertThat(pair.server.takeXid()).isEqualTo(5);
            pair.reply(Rpc.reply(5));
            client.take();
            assertThat(client.isExposed(handle)).isEqualTo(!(requester && responder));
        }
    }

    /** Calls are answered in another order than they have come. */
    @Test
    @Proves("PD-11")
    void aReplyInvalidatesTheMemoryOfItsOwnCall() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(announcing(true), announcing(true));
                RawPeer client = RawPeer.client(pair)) {
            int[] handles = new int[3];
            for (int i = 0; i < handles.length; i++) {
                handles[i] = client.expose(client.memory(100), RemoteAccess.WRITE);
                TransportHeader call = RawPeer.header(i, TransportHeader.RDMA_MSG);
                call.reply().setPresent();
                call.reply().add(handles[i], 100, client.offset(handles[i]));
                client.send(call, Rpc.echo(i, 8));
                assertThat(pair.server.takeXid()).isEqualTo(i);
            }
            for (int i = handles.length - 1; i >= 0; i--) {
                pair.reply(Rpc.reply(i));
                client.take();
                for (int j = 0; j < handles.length; j++) {
                    assertThat(client.isExposed(handles[j])).isEqualTo(j < i);
                }
            }
        }
    }

    /** A Linux server announces nothing of the kind, and invalidates what its client has announced to take. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"PD-09", "PD-10"})
    void aRequesterTakesItWhenItHasAnnouncedIt(boolean announced) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(announcing(announced), announcing(!announced));
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.readdir3(5, 8192));
            server.take();
            int handle = server.header.reply().handle(0);
            ByteBuf reply = RawPeer.message(server.mirrored(0), Rpc.reply(5));
            on(
                    server.channel,
                    () ->
                            server.channel.writeAndFlush(
                                    new RdmaSendWithInvalidate(
                                            Unpooled.copiedBuffer(reply), handle)));
            reply.release();
            if (announced) {
                assertThat(pair.client.takeXid()).isEqualTo(5);
                assertThat(pair.clientConnection().value(RpcRdmaCounter.REMOTE_INVALIDATIONS))
                        .isOne();
                pair.call(Rpc.echo(6, 8));
                server.take();
                assertThat(server.header.xid()).isEqualTo(6);
            } else {
                assertThat(pair.client.awaitInactive()).isTrue();
            }
        }
    }
}
