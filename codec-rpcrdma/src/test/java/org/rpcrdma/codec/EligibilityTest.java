// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.ReplyChunk;
import org.rpcrdma.codec.wire.TransportHeader;

/** What may leave the payload stream, what stays, and who notices (RFC 8166, 3.4.4, 4.3.2 and 6.1). */
class EligibilityTest {

    private static RpcRdmaConfig config() {
        return RpcRdmaConfig.builder().bindings(List.of(new TestBinding())).build();
    }

    /** Appends an arm of the made-up union: its discriminant, then an opaque. */
    private static ByteBuf arm(ByteBuf out, int arm, byte[] data) {
        return Rpc.opaque(out.writeInt(arm), data);
    }

    private static byte[] concat(byte[]... parts) {
        ByteBuf all = Unpooled.buffer();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return Rpc.bytes(all);
    }

    /** RFC 8166, 3.4.4.2 and 3.4.4.3: of optional data and of unions only what is inside may go. */
    @Test
    @Proves({
        "V1-CHUNK-04",
        "V1-CHUNK-06",
        "V1-CHUNK-07",
        "V1-CHUNK-08",
        "V1-CHUNK-03",
        "V1-ULB-03"
    })
    void discriminantsPresenceAndCountWordsStayInThePayload() throws Exception {
        byte[] first = Rpc.random(6001);
        byte[] plain = Rpc.random(16);
        byte[] second = Rpc.random(7002);
        ByteBuf call = Rpc.call(1, TestBinding.PROGRAM, 1, 1);
        arm(call, TestBinding.ELIGIBLE, first);
        arm(call, TestBinding.PLAIN, plain);
        arm(call, TestBinding.ELIGIBLE, second).writeInt(TestBinding.END);
        try (RpcPair pair = RpcPair.rawServer(config(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(call);
            server.take();
            ReadList reads = server.header.reads();
            assertThat(reads.segments()).isEqualTo(2);
            assertThat(reads.position(0)).isEqualTo(40 + 8);
            assertThat(reads.position(1)).isEqualTo(40 + 8 + 6004 + 4 + 20 + 8);
            assertThat(server.read(reads.handle(0), reads.offset(0), 6001)).isEqualTo(first);
            assertThat(server.read(reads.handle(1), reads.offset(1), 7002)).isEqualTo(second);
            ByteBuf reduced = Rpc.call(1, TestBinding.PROGRAM, 1, 1);
            reduced.writeInt(TestBinding.ELIGIBLE).writeInt(6001);
            arm(reduced, TestBinding.PLAIN, plain);
            reduced.writeInt(TestBinding.ELIGIBLE).writeInt(7002).writeInt(TestBinding.END);
            assertThat(server.payload).isEqualTo(Rpc.bytes(reduced));
        }
    }

    /** An item is passed over as it is noted, so none can lie in another. */
    @Property(tries = 200)
    @Proves("V1-CHUNK-18")
    void eligibleItemsNeverOverlap(@ForAll long seed) throws MalformedMessageException {
        Random random = new Random(seed);
        ByteBuf in = Unpooled.buffer();
        int arms = random.nextInt(8);
        for (int i = 0; i < arms; i++) {
            arm(in, 1 + random.nextInt(2), Rpc.random(random.nextInt(60)));
        }
        in.writeInt(TestBinding.END);
        XdrCursor cursor =
                new XdrCursor().wrap(in, 0, 0, in.writerIndex(), ItemInChunkPredicate.NONE);
        new TestBinding().walkArguments(1, 1, cursor);
        long end = 0;
        for (int i = 0; i < cursor.items(); i++) {
            assertThat(cursor.itemPosition(i)).isGreaterThanOrEqualTo(end);
            end = cursor.itemPosition(i) + XdrCursor.roundUp(cursor.itemLength(i));
        }
        assertThat(end).isLessThanOrEqualTo(in.writerIndex());
        assertThat(cursor.remaining()).isZero();
    }

    /** RFC 8166, 3.4.5.2: a chunk has no round-up of its own. What lay in the memory before is not taken for it. */
    @Test
    @Proves({"V1-READ-14", "V1-READ-12"})
    void theRoundUpOfARebuiltCallIsZeros() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            byte[] dirt = new byte[5004];
            Arrays.fill(dirt, (byte) 0xEE);
            int xid = 0;
            for (int length : new int[] {5004, 5003, 5004, 5002, 5004, 5001}) {
                byte[] call = ByteBufUtil.getBytes(Rpc.write3(++xid, Arrays.copyOf(dirt, length)));
                int position = call.length - 5004;
                int handle = client.expose(client.memory(dirt), RemoteAccess.READ);
                TransportHeader header = RawPeer.header(xid, 0);
                header.reads().add(position, handle, length, client.offset(handle));
                client.send(header, Unpooled.copiedBuffer(call, 0, position));
                // Released on the event loop, the memory is there for the next call.
                ByteBuf received = pair.server.takeBuffer();
                assertThat(ByteBufUtil.getBytes(received)).isEqualTo(call);
                RpcPair.on(pair.serverChannel, received::release);
                pair.reply(Rpc.reply(xid));
                client.take();
            }
        }
    }

    /** The results of one reply, and where each of them has to be. */
    @ParameterizedTest
    @ValueSource(strings = {"E", "EE", "EEE", "PE", "PEPE", "P", "", "EPEPE", "0E"})
    @Proves({
        "V1-WRITE-03",
        "V1-WRITE-04",
        "V1-WRITE-13",
        "V1-WRITE-14",
        "V1-WRITE-15",
        "V1-WRITE-16",
        "V1-WRITE-23",
        "V1-CHUNK-01"
    })
    void resultsTakeChunksInTheirOrder(String results) throws Exception {
        try (RpcPair pair = RpcPair.rawClient(RpcRdmaConfig.defaults(), config());
                RawPeer client = RawPeer.client(pair)) {
            List<ByteBuf> sinks = new ArrayList<>();
            TransportHeader call = RawPeer.header(1, 0);
            for (int i = 0; i < 2; i++) {
                ByteBuf sink = client.memory(500);
                sinks.add(sink);
                int handle = client.expose(sink, RemoteAccess.WRITE);
                call.writes().add(handle, 500, client.offset(handle));
                call.writes().endChunk();
            }
            client.send(call, Rpc.call(1, TestBinding.PROGRAM, 1, 3));
            pair.server.takeBytes();
            ByteBuf whole = Rpc.reply(1);
            ByteBuf reduced = Rpc.reply(1);
            List<byte[]> placed = new ArrayList<>();
            for (int i = 0; i < results.length(); i++) {
                char kind = results.charAt(i);
                byte[] data = Rpc.random(kind == '0' ? 0 : 100 + i);
                if (kind == 'P') {
                    arm(whole, TestBinding.PLAIN, data);
                    arm(reduced, TestBinding.PLAIN, data);
                } else {
                    arm(whole, TestBinding.ELIGIBLE, data);
                    if (placed.size() < 2) {
                        reduced.writeInt(TestBinding.ELIGIBLE).writeInt(data.length);
                        placed.add(data);
                    } else {
                        arm(reduced, TestBinding.ELIGIBLE, data);
                    }
                }
            }
            pair.reply(whole.writeInt(TestBinding.END));
            client.take();
            assertThat(client.payload).isEqualTo(Rpc.bytes(reduced.writeInt(TestBinding.END)));
            assertThat(client.header.writes().chunks()).isEqualTo(2);
            for (int i = 0; i < 2; i++) {
                byte[] expected = i < placed.size() ? placed.get(i) : new byte[0];
                assertThat(client.header.writes().chunkLength(i)).isEqualTo(expected.length);
                assertThat(ByteBufUtil.getBytes(sinks.get(i), 0, expected.length))
                        .isEqualTo(expected);
                assertThat(sinks.get(i).getByte(expected.length)).isEqualTo(RawPeer.UNTOUCHED);
            }
        }
    }

    /** A binding restricts chunks to certain procedures; both sides hold it. */
    @Test
    @Proves({"V1-ULB-03", "V1-CHUNK-14", "V1-CHUNK-01", "V1-WRITE-16"})
    void chunksWhereTheBindingHasNone() throws Exception {
        ByteBuf call = Rpc.call(1, TestBinding.PROGRAM, 1, 3);
        arm(call, TestBinding.ELIGIBLE, Rpc.random(5000)).writeInt(TestBinding.END);
        byte[] bytes = ByteBufUtil.getBytes(call);
        try (RpcPair pair = RpcPair.rawServer(config(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(call); // in procedure 3 it is not eligible
            server.take();
            assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
            assertThat(server.header.reads().segments()).isEqualTo(1);
            assertThat(server.header.reads().position(0)).isZero();
        }
        try (RpcPair pair = RpcPair.rawClient(RpcRdmaConfig.defaults(), config());
                RawPeer client = RawPeer.client(pair)) {
            int handle = client.expose(client.memory(5000), RemoteAccess.READ);
            TransportHeader header = RawPeer.header(1, 0);
            header.reads().add(48, handle, 5000, client.offset(handle));
            client.send(
                    header, Unpooled.copiedBuffer(concat(Arrays.copyOf(bytes, 48), new byte[4])));
            assertThat(client.take()).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
            assertThat(pair.server.messages).isEmpty();

            // GETATTR-like: a Write chunk comes back unused, with the result inline.
            int sink = client.expose(client.memory(500), RemoteAccess.WRITE);
            TransportHeader offering = RawPeer.header(2, 0);
            offering.writes().add(sink, 500, client.offset(sink));
            offering.writes().endChunk();
            client.send(offering, Rpc.echo(2, 0));
            pair.server.takeBytes();
            byte[] reply = ByteBufUtil.getBytes(Rpc.reply(2).writeBytes(Rpc.random(200)));
            pair.reply(Unpooled.wrappedBuffer(reply));
            client.take();
            assertThat(client.payload).isEqualTo(reply);
            assertThat(client.header.writes().mirrors(offering.writes())).isTrue();
            assertThat(client.header.writes().chunkLength(0)).isZero();
        }
    }

    /** RPCSEC_GSS procedures other than DATA set up a context (RFC 2203, 5.2.2): nothing of them is reduced. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    @Proves({"V1-GSS-01", "V1-GSS-03"})
    void contextMessagesAreNeverReduced(int gssProcedure) throws Exception {
        ByteBuf call = Unpooled.buffer().writeInt(1).writeInt(0).writeInt(2);
        call.writeInt(Rpc.NFS).writeInt(3).writeInt(Rpc.WRITE);
        call.writeInt(6).writeInt(20).writeInt(1).writeInt(gssProcedure).writeZero(4).writeInt(1);
        call.writeZero(4).writeZero(8);
        // It looks like the arguments of a WRITE.
        Rpc.opaque(call, Rpc.random(28)).writeZero(16);
        Rpc.opaque(call, Rpc.random(9000));
        byte[] bytes = ByteBufUtil.getBytes(call);
        try (RpcPair pair = RpcPair.rawServer(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(call);
            server.take();
            assertThat(server.header.writes().chunks()).isZero();
            assertThat(server.header.reads().segments()).isEqualTo(1);
            assertThat(server.header.reads().position(0)).isZero();
            assertThat(
                            server.read(
                                    server.header.reads().handle(0),
                                    server.header.reads().offset(0),
                                    bytes.length))
                    .isEqualTo(bytes);
        }
    }

    /** A credential or a verifier in a Read chunk: the position is not one of an eligible argument. */
    @ParameterizedTest
    @ValueSource(ints = {24, 28, 32, 36})
    @Proves({"V1-GSS-01", "V1-CHUNK-14"})
    void credentialsAndVerifiersInAChunkAreRefused(int position) throws Exception {
        try (RpcPair pair = RpcPair.rawClient(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
                RawPeer client = RawPeer.client(pair)) {
            byte[] call = ByteBufUtil.getBytes(Rpc.write3(1, Rpc.random(100)));
            int handle = client.expose(client.memory(400), RemoteAccess.READ);
            TransportHeader header = RawPeer.header(1, 0);
            header.reads().add(position, handle, 400, client.offset(handle));
            client.send(header, Unpooled.wrappedBuffer(call));
            assertThat(client.take()).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
            assertThat(pair.server.messages).isEmpty();
        }
    }

    /** The same bytes under each service (RFC 2203, 5.3.1): 1 none, 2 integrity, 3 privacy. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    @Proves({"V1-GSS-02", "V1-GSS-04", "V1-CHUNK-14", "API-09"})
    void aResponderTakesReducedArgumentsOnlyWithoutIntegrityAndPrivacy(int service)
            throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            ByteBuf call = Rpc.gssCall(1, Rpc.WRITE, service);
            Rpc.opaque(call, Rpc.random(28)).writeZero(16);
            Rpc.opaque(call, Rpc.random(5000));
            byte[] whole = ByteBufUtil.getBytes(call);
            int position = whole.length - 5000;
            int handle = client.expose(client.memory(Rpc.random(5000)), RemoteAccess.READ);
            TransportHeader header = RawPeer.header(1, 0);
            header.reads().add(position, handle, 5000, client.offset(handle));
            client.send(header, Unpooled.copiedBuffer(whole, 0, position));
            if (service == 1) {
                assertThat(pair.server.takeBytes()).isEqualTo(whole);
            } else {
                assertThat(client.take()).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
                assertThat(pair.server.messages).isEmpty();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    @Proves({"V1-GSS-02", "V1-GSS-04", "V1-WRITE-16"})
    void aResponderPlacesResultsOnlyWithoutIntegrityAndPrivacy(int service) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            ByteBuf sink = client.memory(1000);
            int handle = client.expose(sink, RemoteAccess.WRITE);
            TransportHeader header = RawPeer.header(1, 0);
            header.writes().add(handle, 1000, client.offset(handle));
            header.writes().endChunk();
            ByteBuf call = Rpc.gssCall(1, Rpc.READ, service);
            client.send(header, Rpc.opaque(call, Rpc.random(28)).writeZero(12));
            pair.server.takeBytes();
            byte[] reply = ByteBufUtil.getBytes(Rpc.read3Reply(1, Rpc.random(1000)));
            pair.reply(Unpooled.wrappedBuffer(reply));
            client.take();
            int placed = service == 1 ? 1000 : 0;
            assertThat(client.header.writes().chunkLength(0)).isEqualTo(placed);
            assertThat(client.payload).isEqualTo(Arrays.copyOf(reply, reply.length - placed));
            assertThat(sink.getByte(0) == RawPeer.UNTOUCHED).isEqualTo(service != 1);
        }
    }

    /**
     * Under privacy the body is bytes like any other: it goes whole, through the memory between (RFC 8166, 8.2.2.3).
     */
    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    @Proves({"V1-GSS-02", "V1-GSS-03", "V1-GSS-06", "API-09"})
    void aWrappedBodyTravelsAsALongMessage(int service) throws Exception {
        byte[] call =
                ByteBufUtil.getBytes(
                        Rpc.gssCall(1, Rpc.READ, service).writeBytes(Rpc.random(9000)));
        byte[] body = ByteBufUtil.getBytes(Rpc.reply(1).writeBytes(Rpc.random(9000)));
        try (RpcPair pair = RpcPair.rawServer(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Unpooled.wrappedBuffer(call));
            server.take();
            assertThat(server.header.writes().chunks()).isZero();
            assertThat(server.header.reads().segments()).isEqualTo(1);
            assertThat(server.header.reads().position(0)).isZero();
            ReplyChunk chunk = server.header.reply();
            assertThat(
                            server.read(
                                    server.header.reads().handle(0),
                                    server.header.reads().offset(0),
                                    call.length))
                    .isEqualTo(call);
            server.write(chunk.handle(0), chunk.offset(0), body);
            TransportHeader reply = server.mirrored(1);
            reply.reply().length(0, body.length);
            server.send(reply, RawPeer.nothing());
            assertThat(pair.client.takeBytes()).isEqualTo(body);
        }
    }

    @Test
    @Proves({"V1-ULB-01", "V1-ULB-04", "V1-ULB-09", "API-01", "API-02"})
    void bindingsAreFoundByProgramAndVersionAndCanBeAdded() throws Exception {
        BindingRegistry registry = BindingRegistry.of(List.of(new TestBinding()));
        assertThat(registry.find(TestBinding.PROGRAM, 1)).isInstanceOf(TestBinding.class);
        assertThat(registry.find(TestBinding.PROGRAM, 3)).isNotInstanceOf(TestBinding.class);
        assertThat(registry.find(Rpc.NFS, 3)).isNotInstanceOf(TestBinding.class);
        ByteBuf call = Rpc.call(1, TestBinding.PROGRAM, 3, 1);
        arm(call, TestBinding.ELIGIBLE, Rpc.random(6000)).writeInt(TestBinding.END);
        // Version 3 of the program has no binding yet: the same arguments go whole.
        try (RpcPair pair = RpcPair.rawServer(config(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(call);
            server.take();
            assertThat(server.header.reads().segments()).isEqualTo(1);
            assertThat(server.header.reads().position(0)).isZero();
        }
    }
}
