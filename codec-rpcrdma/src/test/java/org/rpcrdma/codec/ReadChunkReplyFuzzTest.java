// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.rpcrdma.codec.FuzzSeeds.CALL;
import static org.rpcrdma.codec.FuzzSeeds.MSG;
import static org.rpcrdma.codec.FuzzSeeds.NOMSG;
import static org.rpcrdma.codec.FuzzSeeds.REPLY;
import static org.rpcrdma.codec.FuzzSeeds.completion;
import static org.rpcrdma.codec.FuzzSeeds.header;
import static org.rpcrdma.codec.FuzzSeeds.reading;
import static org.rpcrdma.codec.FuzzSeeds.reply;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.stream.Stream;
import org.rpcrdma.codec.FuzzScript.Op;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Replies in Read chunks (draft-cel-nfsv4-rpcrdma-reliable-reply-04), at either side: a responder whose replies wait
 * for their pull completion, and a requester that reads what it is offered.
 */
class ReadChunkReplyFuzzTest extends ConnectionFuzzTarget {

    private static final int FREE =
            FuzzRun.ACCEPTS
                    | FuzzRun.SPEAKS_TWO
                    | FuzzRun.COMPLETES_IN_TWO
                    | FuzzRun.NO_REPLY_CHUNKS
                    | FuzzRun.ADAPTIVE;

    private static final int TWO = FuzzRun.SPEAKS_TWO | FuzzRun.COMPLETES_IN_TWO;

    @Override
    int variant(int chosen) {
        return FuzzRun.READ_CHUNK_REPLIES | (chosen & FREE);
    }

    @Override
    protected Stream<byte[]> seeds() {
        return Stream.of(
                responder(FuzzRun.ACCEPTS, 1),
                responder(FuzzRun.ACCEPTS | TWO, 2),
                responder(FuzzRun.ACCEPTS | FuzzRun.SPEAKS_TWO, 2),
                tooMany(),
                requester(FuzzRun.NO_REPLY_CHUNKS, 1),
                requester(0, 1),
                requester(TWO | FuzzRun.NO_REPLY_CHUNKS, 2),
                bad(FuzzRun.NO_REPLY_CHUNKS),
                bad(0),
                givenUp(),
                underWay(Op.CANCEL),
                underWay(Op.CLOSE),
                underWay(Op.MIRROR));
    }

    private static ByteBuf call(int version, int xid) {
        return RawPeer.message(header(version, xid, MSG, CALL), Rpc.echo(xid, 8));
    }

    private static ByteBuf done(int version, int xid) {
        return version == 1 ? ReadChunks.done(xid) : completion(xid);
    }

    private static byte[] responder(int variant, int version) {
        return FuzzScript.variant(variant)
                .send(call(version, 0xCAFE0005))
                .reply(0, 8)
                .send(call(version, 0xCAFE0006))
                .reply(0, 10_000)
                .step(Op.PULL, 0)
                .send(done(version, 0xCAFE0006))
                .send(done(version, 0xCAFE0006))
                .send(done(3 - version, 0xCAFE0006))
                .send(call(version, 0xCAFE0006))
                .reply(0, 5001)
                .send(call(version, 0xCAFE0006))
                .reply(0, 6001)
                .step(Op.PULL, 2)
                .send(FuzzScript.INVALIDATES | 2 << 2, done(version, 0xCAFE0006))
                .bytes();
    }

    /** More than may wait, in number and in bytes, and of more than may be offered. */
    private static byte[] tooMany() {
        FuzzScript.Builder script = FuzzScript.variant(FuzzRun.ACCEPTS | FuzzRun.ADAPTIVE);
        for (int xid = 1; xid <= 8; xid++) {
            script.send(call(1, xid)).reply(0, xid < 3 ? 16_000 : 5000);
        }
        return script.send(ReadChunks.done(2))
                .step(Op.PULL, 0)
                .send(call(1, 9))
                .reply(0, 9000)
                .step(Op.EXPIRE, 0)
                .send(ReadChunks.done(9))
                .send(call(1, 10))
                .reply(0, 9001)
                .bytes();
    }

    private static FuzzScript.Builder begun(int variant) {
        FuzzScript.Builder script = FuzzScript.variant(variant).call(0).step(Op.MIRROR, 0);
        return (variant & FuzzRun.SPEAKS_TWO) == 0 ? script.call(0) : script;
    }

    /** The second call is answered by reading, in one segment, then the third in three. */
    private static byte[] requester(int variant, int version) {
        int xid = FuzzScript.xid(1);
        byte[] whole = reply(FuzzScript.xid(2), 6000);
        TransportHeader pieces = header(version, FuzzScript.xid(2), NOMSG, REPLY);
        pieces.reads().add(0, FuzzScript.own(2), 2000, 0);
        pieces.reads().add(0, FuzzScript.own(2), 1000, 2000);
        pieces.reads().add(0, FuzzScript.own(2), 3000, 3000);
        return begun(variant)
                .call(0)
                .step(Op.EXPOSE, 0, reply(xid, 2000))
                .step(Op.EXPOSE, 0, new byte[4])
                .send(reading(header(version, xid, NOMSG, REPLY), 0, 0, 2000), RawPeer.nothing())
                .step(Op.EXPOSE, 0, whole)
                .send(pieces, RawPeer.nothing())
                .call(0)
                .send(pieces, RawPeer.nothing())
                .bytes();
    }

    /** What cannot be pulled: too long, too short, at two positions, in a short reply, not a reply. */
    private static byte[] bad(int variant) {
        FuzzScript.Builder script = begun(variant);
        for (int i = 0; i < 6; i++) {
            script.call(i == 2 ? 3 : 0);
        }
        int[] xids = {FuzzScript.xid(1), FuzzScript.xid(2), FuzzScript.xid(3), FuzzScript.xid(4)};
        TransportHeader positions = reading(header(1, xids[2], NOMSG, REPLY), 0, 0, 2000);
        positions.reads().add(100, FuzzScript.own(0), 100, 0);
        byte[] read = Rpc.bytes(Rpc.read3Reply(xids[3], Rpc.random(2000)));
        // What was read is given back with the completion, so each reply has memory of its own.
        for (int i = 0; i < 3; i++) {
            script.step(Op.EXPOSE, 0, Rpc.random(2000)).step(Op.EXPOSE, 0, new byte[4]);
        }
        return script.send(
                        reading(header(1, xids[0], NOMSG, REPLY), 0, 0, 1 << 30), RawPeer.nothing())
                .send(reading(header(1, xids[1], NOMSG, REPLY), 0, 0, 4), RawPeer.nothing())
                .send(positions, RawPeer.nothing())
                .send(
                        reading(header(1, xids[3], MSG, REPLY), read.length - 2000, 2, 2000),
                        Unpooled.copiedBuffer(read, 0, read.length - 2000))
                .send(
                        reading(header(1, FuzzScript.xid(5), NOMSG, REPLY), 0, 4, 2000),
                        RawPeer.nothing())
                .send(reading(header(1, 99, NOMSG, REPLY), 0, 4, 2000), RawPeer.nothing())
                .bytes();
    }

    /** Late replies: the responder is told that nobody reads them. */
    private static byte[] givenUp() {
        FuzzScript.Builder script = begun(FuzzRun.NO_REPLY_CHUNKS).call(0).call(0);
        for (int i = 0; i < 2; i++) {
            int xid = FuzzScript.xid(1 + i);
            script.step(Op.CANCEL, 0)
                    .step(Op.EXPOSE, 0, reply(xid, 2000))
                    .step(Op.EXPOSE, 0, new byte[4])
                    .send(reading(header(1, xid, NOMSG, REPLY), 0, 2 * i, 2000), RawPeer.nothing())
                    .send(reading(header(1, xid, NOMSG, REPLY), 0, 2 * i, 2000), RawPeer.nothing());
        }
        return script.bytes();
    }

    /** While a reply is read something else happens to its call. */
    private static byte[] underWay(Op what) {
        int xid = FuzzScript.xid(1);
        ByteBuf offer =
                RawPeer.message(
                        reading(header(1, xid, NOMSG, REPLY), 0, 0, 2000), RawPeer.nothing());
        return begun(FuzzRun.NO_REPLY_CHUNKS)
                .step(Op.EXPOSE, 0, reply(xid, 2000))
                .send(FuzzScript.AT_ONCE, offer)
                .step(what, what == Op.MIRROR ? 1 : 0)
                .call(0)
                .bytes();
    }
}
