// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.TransportHeader;

/** What a COMPOUND offers on the wire, and COMPOUNDs with several reduced items end to end. */
class Nfs4RequesterTest {

    private static final int GETATTR = 9;
    private static final int GETFH = 10;
    private static final int PUTFH = 22;
    private static final int READ = 25;
    private static final int READDIR = 26;
    private static final int READLINK = 27;
    private static final int READ_PLUS = 68;
    private static final int WRITE = 38;
    private static final int EXTENSION = 4711;

    /** A server that is known to take any number of chunks. */
    private static final RpcRdmaConfig MANY = RpcPair.usual().chunksPerCall(16).build();

    private static ByteBuf compound(int xid, int operations) {
        return Rpc.call(xid, Rpc.NFS, 4, 1).writeInt(0).writeInt(2).writeInt(operations);
    }

    private static ByteBuf read(ByteBuf out, int count) {
        return out.writeInt(READ).writeZero(16 + 8).writeInt(count);
    }

    private static ByteBuf readPlus(ByteBuf out, int count) {
        return out.writeInt(READ_PLUS).writeZero(16 + 8).writeInt(count);
    }

    /** With a reply that does not fit inline. */
    private static ByteBuf readdir(ByteBuf out) {
        return out.writeInt(READDIR).writeZero(8 + 8).writeInt(8192).writeInt(8192).writeInt(0);
    }

    private static ByteBuf write(ByteBuf out, int length) {
        out.writeInt(WRITE).writeZero(16 + 8 + 4);
        return Rpc.opaque(out, Rpc.random(length));
    }

    private static ByteBuf putfh(ByteBuf out) {
        return Rpc.opaque(out.writeInt(PUTFH), Rpc.random(28));
    }

    private static ByteBuf results(int xid, int operations) {
        return Rpc.reply(xid).writeInt(0).writeInt(0).writeInt(operations);
    }

    private static ByteBuf readResult(ByteBuf out, int length) {
        return Rpc.opaque(out.writeInt(READ).writeInt(0).writeInt(1), Rpc.random(length));
    }

    private static TransportHeader offered(ByteBuf call) throws Exception {
        return offered(MANY, call);
    }

    private static TransportHeader offered(RpcRdmaConfig config, ByteBuf call) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config, RpcPair.usual().build())) {
            pair.call(call);
            ByteBuf received = pair.server.takeBuffer();
            TransportHeader header = new TransportHeader();
            header.decodeFixed(received, 0);
            assertThat(header.decodeLists(received, 16, received.writerIndex(), 99)).isPositive();
            received.release();
            return header;
        }
    }

    /** RFC 8267, 6.4.2: nothing tells a client how many chunks a server takes. */
    @Test
    @Proves({"ULB-13", "ULB-14", "ULB-15", "ULB-17"})
    void aCallHasOneChunkOfAKindUnlessToldOtherwise() throws Exception {
        RpcRdmaConfig config = RpcPair.usual().build();
        TransportHeader header = offered(config, read(read(putfh(compound(1, 3)), 20_000), 65537));
        assertThat(header.writes().chunks()).isEqualTo(1);
        assertThat(header.writes().chunkLength(0)).isEqualTo(65537); // for either of the two
        assertThat(header.writes().segments()).isEqualTo(1);
        assertThat(header.reply().segments()).isEqualTo(1);
        assertThat(header.reply().chunkLength()).isBetween(65540L, 65540L + 1000);

        ByteBuf call = putfh(compound(1, 6));
        for (int length : new int[] {700, 9000, 9000, 600, 800}) {
            write(call, length);
        }
        header = offered(config, call);
        // What is left of two long items does not fit inline: all of it is a long call.
        assertThat(header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
        assertThat(header.reads().segments()).isEqualTo(1);

        call = putfh(compound(1, 4));
        for (int length : new int[] {700, 9000, 600}) {
            write(call, length);
        }
        header = offered(config, call);
        assertThat(header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
        assertThat(header.reads().segments()).isEqualTo(1);
        assertThat(header.reads().length(0)).isEqualTo(9000);

        call = read(read(read(putfh(compound(1, 7)), 5000), 6000), 7000);
        header =
                offered(
                        RpcPair.usual().chunksPerCall(2).build(),
                        write(write(write(call, 5000), 4000), 10));
        assertThat(header.writes().chunks()).isEqualTo(2);
        assertThat(header.reads().segments()).isEqualTo(2);
        assertThat(header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
    }

    @Test
    @Proves({"ULB-12", "ULB-26"})
    void aResultBehindTheLastWriteChunkComesWithThePayload() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            for (int length : new int[] {100, 9000}) {
                pair.call(read(read(putfh(compound(length, 3)), 20_000), length));
                pair.server.takeBytes();
                ByteBuf reply = results(length, 3).writeInt(PUTFH).writeInt(0);
                readResult(readResult(reply, 19_999), length - 1);
                byte[] answered = ByteBufUtil.getBytes(reply);
                pair.reply(reply);
                assertThat(pair.client.takeBytes()).isEqualTo(answered);
            }
            // The second time all but the first item goes into the Reply chunk.
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isBetween(2 * 19_999L + 9000, 2 * 19_999L + 9000 + 200);
        }
    }

    @Test
    @Proves({"V1-WRITE-13", "V1-WRITE-10", "API-05"})
    void severalReadsOfferAsManyWriteChunksAndNoReplyChunk() throws Exception {
        TransportHeader header = offered(read(putfh(read(putfh(compound(1, 4)), 65537)), 4096));
        assertThat(header.writes().chunks()).isEqualTo(2);
        assertThat(header.writes().chunkLength(0)).isEqualTo(65537);
        assertThat(header.writes().chunkLength(1)).isEqualTo(4096);
        assertThat(header.reply().isPresent()).isFalse();
    }

    /** A READ at the end of its file may leave its chunk to the next one. What reads nothing needs none. */
    @Test
    @Proves({"V1-WRITE-17", "V1-WRITE-29"})
    void aWriteChunkHasRoomForTheReadsBehindIt() throws Exception {
        ByteBuf call = read(read(read(putfh(compound(1, 5)), 4096), 65537), 5000);
        TransportHeader header = offered(read(call, 0));
        assertThat(header.writes().chunks()).isEqualTo(3);
        assertThat(header.writes().chunkLength(0)).isEqualTo(65537);
        assertThat(header.writes().chunkLength(1)).isEqualTo(65537);
        assertThat(header.writes().chunkLength(2)).isEqualTo(5000);

        header = offered(read(read(putfh(compound(1, 3)), 0), 9000));
        assertThat(header.writes().chunks()).isEqualTo(2);
        assertThat(header.writes().chunkLength(0)).isEqualTo(9000);

        header = offered(read(read(readdir(putfh(compound(1, 4))), 0), 0));
        assertThat(header.writes().chunks()).isZero();
        assertThat(header.reply().segments()).isEqualTo(1);
    }

    /** A Linux server puts data of READ_PLUS into a Write chunk, which may be any that a READ has not used. */
    @Test
    @Proves({"ULB-08", "ULB-30"})
    void aReadBesideAReadPlusOffersNoWriteChunk() throws Exception {
        ByteBuf call = readPlus(putfh(compound(1, 3)), 100);
        TransportHeader header = offered(read(call, 20_000));
        assertThat(header.writes().chunks()).isZero();
        assertThat(header.reply().chunkLength()).isGreaterThan(20_100);

        header = offered(readPlus(read(putfh(compound(1, 3)), 20_000), 100));
        assertThat(header.writes().chunks()).isZero();
        assertThat(header.reply().chunkLength()).isGreaterThan(20_100);

        header = offered(read(putfh(compound(1, 3)), 20_000).writeInt(READLINK));
        assertThat(header.writes().chunks()).isZero();
        assertThat(header.reply().chunkLength()).isGreaterThan(20_000 + 4096);
    }

    @Test
    @Proves({"V1-REPLY-01", "V1-ULB-06", "API-07", "ULB-09"})
    void withoutABoundTheDefaultComesOnTop() throws Exception {
        ByteBuf call = read(putfh(compound(1, 3)), 65536);
        call.writeInt(GETATTR).writeInt(1).writeInt(1 << 12); // acl
        TransportHeader header = offered(call);
        assertThat(header.writes().chunks()).isEqualTo(1);
        assertThat(header.reply().chunkLength()).isBetween(65536L, 65536L + 1000);

        header = offered(read(putfh(compound(1, 3)), 65536).writeInt(EXTENSION).writeZero(64));
        assertThat(header.writes().chunks()).isEqualTo(1);
        assertThat(header.reply().chunkLength()).isBetween(65536L, 65536L + 1000);
    }

    @Test
    @Proves({"V1-REPLY-01", "V1-WRITE-20"})
    void readlinkOffersAReplyChunkAndNeverAWriteChunk() throws Exception {
        TransportHeader header = offered(putfh(compound(1, 2)).writeInt(READLINK));
        assertThat(header.writes().chunks()).isZero();
        assertThat(header.reply().chunkLength()).isGreaterThan(4096);
        header = offered(read(putfh(compound(1, 4)).writeInt(READLINK), 8192).writeInt(GETFH));
        assertThat(header.writes().chunks()).isZero();
        assertThat(header.reply().chunkLength()).isGreaterThan(4096 + 8192);
    }

    @Test
    @Proves({
        "V1-CHUNK-18",
        "V1-READ-03",
        "V1-WRITE-13",
        "V1-WRITE-14",
        "V1-WRITE-16",
        "ULB-10",
        "ULB-11"
    })
    void severalWritesAndReadsEndToEnd() throws Exception {
        try (RpcPair pair = RpcPair.of(MANY, RpcPair.usual().build())) {
            for (int odd = 0; odd < 4; odd++) {
                ByteBuf call = write(putfh(compound(odd, 6)), 5000 + odd).writeInt(GETFH);
                read(read(write(call, 20_000 - odd), 9000), 9000);
                byte[] sent = ByteBufUtil.getBytes(call);
                pair.call(call);
                assertThat(pair.server.takeBytes()).isEqualTo(sent);

                ByteBuf reply = results(odd, 6).writeInt(PUTFH).writeInt(0);
                reply.writeInt(WRITE).writeInt(0).writeZero(16);
                Rpc.opaque(reply.writeInt(GETFH).writeInt(0), Rpc.random(28));
                reply.writeInt(WRITE).writeInt(0).writeZero(16);
                readResult(reply, 8999 - odd);
                if (odd == 3) {
                    reply.writeInt(READ).writeInt(5); // NFS4ERR_IO: its Write chunk stays unused
                } else {
                    readResult(reply, odd); // short, and one of no bytes at all
                }
                byte[] answered = ByteBufUtil.getBytes(reply);
                pair.reply(Unpooled.wrappedBuffer(answered));
                reply.release();
                assertThat(pair.client.takeBytes()).isEqualTo(answered);
            }
            assertThat(pair.serverConnection().value(RpcRdmaCounter.READ_BYTES))
                    .isEqualTo(4 * 25_000);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isEqualTo(8999 + 8998 + 8997 + 8996 + 1 + 2);
        }
    }

    @Test
    @Proves({"V1-GSS-02", "V1-GSS-03"})
    void underIntegrityACompoundIsCarriedWhole() throws Exception {
        ByteBuf call = Unpooled.buffer();
        call.writeInt(1).writeInt(0).writeInt(2).writeInt(Rpc.NFS).writeInt(4).writeInt(1);
        call.writeInt(6).writeInt(20).writeInt(1).writeInt(0).writeInt(7).writeInt(2).writeInt(0);
        call.writeZero(8); // the verifier
        write(call.writeInt(6000).writeInt(7).writeInt(0).writeInt(2).writeInt(1), 5900);
        TransportHeader header = offered(call);
        assertThat(header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
        assertThat(header.reads().position(0)).isZero();
        assertThat(header.writes().chunks()).isZero();
        assertThat(header.reply().isPresent()).isTrue();
    }
}
