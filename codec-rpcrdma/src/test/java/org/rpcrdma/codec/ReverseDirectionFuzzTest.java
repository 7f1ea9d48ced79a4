// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.rpcrdma.codec.FuzzSeeds.CALL;
import static org.rpcrdma.codec.FuzzSeeds.MSG;
import static org.rpcrdma.codec.FuzzSeeds.NOMSG;
import static org.rpcrdma.codec.FuzzSeeds.REPLY;
import static org.rpcrdma.codec.FuzzSeeds.echo;
import static org.rpcrdma.codec.FuzzSeeds.error;
import static org.rpcrdma.codec.FuzzSeeds.header;
import static org.rpcrdma.codec.FuzzSeeds.reading;
import static org.rpcrdma.codec.FuzzSeeds.versionError;

import io.netty.buffer.ByteBuf;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.rpcrdma.codec.FuzzScript.Op;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/** Both directions of one connection (RFC 8167), at either side of it and in both versions, with the same XIDs. */
class ReverseDirectionFuzzTest extends ConnectionFuzzTarget {

    private static final int FREE =
            FuzzRun.ACCEPTS
                    | FuzzRun.SPEAKS_TWO
                    | FuzzRun.REVERSE_CHUNKS
                    | FuzzRun.READ_CHUNK_REPLIES
                    | FuzzRun.COMPLETES_IN_TWO
                    | FuzzRun.NO_REPLY_CHUNKS
                    | FuzzRun.ADAPTIVE;

    @Override
    int variant(int chosen) {
        return FuzzRun.REVERSE | (chosen & FREE);
    }

    @Override
    protected Stream<byte[]> seeds() {
        return IntStream.of(
                        0,
                        FuzzRun.ACCEPTS,
                        FuzzRun.SPEAKS_TWO,
                        FuzzRun.ACCEPTS | FuzzRun.SPEAKS_TWO,
                        FuzzRun.REVERSE_CHUNKS,
                        FuzzRun.ACCEPTS | FuzzRun.REVERSE_CHUNKS,
                        FuzzRun.REVERSE_CHUNKS
                                | FuzzRun.READ_CHUNK_REPLIES
                                | FuzzRun.NO_REPLY_CHUNKS,
                        FuzzRun.ACCEPTS
                                | FuzzRun.SPEAKS_TWO
                                | FuzzRun.READ_CHUNK_REPLIES
                                | FuzzRun.ADAPTIVE)
                .boxed()
                .flatMap(
                        variant ->
                                Stream.of(
                                        both(variant),
                                        bad(variant),
                                        longMessages(variant),
                                        givenUp(variant),
                                        closed(variant)));
    }

    private static int version(int variant) {
        return (variant & FuzzRun.SPEAKS_TWO) != 0 ? 2 : 1;
    }

    /** The peer's first call settles the version of calls from the accepting side; then both have the same XID. */
    private static FuzzScript.Builder begun(int variant) {
        FuzzScript.Builder script = FuzzScript.variant(variant);
        if ((variant & FuzzRun.ACCEPTS) != 0) {
            script.send(header(version(variant), 1, MSG, CALL), Rpc.echo(1, 8)).reply(0, 8).call(0);
        } else {
            script.call(0).step(Op.MIRROR, 0).step(Op.MIRROR, 1).call(0);
        }
        return script;
    }

    private static byte[] both(int variant) {
        int version = version(variant);
        int xid = FuzzScript.xid(1);
        return begun(variant)
                .send(header(version, xid, MSG, CALL), Rpc.echo(xid, 8))
                .send(header(version, xid, MSG, REPLY), Rpc.reply(xid))
                .reply(0, 8)
                .call(1)
                .call(0)
                .call(0)
                .send(FuzzScript.AT_ONCE, call(version, 70))
                .send(FuzzScript.AT_ONCE, call(version, 71))
                .send(call(version, 72))
                .step(Op.MIRROR, 3)
                .reply(1, 100)
                .step(Op.MIRROR, 2)
                .reply(1, 8)
                .bytes();
    }

    private static ByteBuf call(int version, int xid) {
        return RawPeer.message(header(version, xid, MSG, CALL), Rpc.echo(xid, 8));
    }

    private static byte[] bad(int variant) {
        int version = version(variant);
        int xid = FuzzScript.xid(0);
        TransportHeader chunked = header(version, 80, MSG, CALL);
        chunked.writes().add(FuzzScript.own(1), 100, 0);
        chunked.writes().endChunk();
        return begun(variant)
                .step(Op.EXPOSE, 0, new byte[4])
                .step(Op.EXPOSE, 0, new byte[100])
                .send(chunked, Rpc.read3(80, 100))
                .send(header(version, 81, 3, CALL), Rpc.echo(81, 8))
                .send(header(version, 82, MSG, CALL), RawPeer.nothing())
                .send(new TransportHeader().set(83, 3, 16, 0, CALL), Rpc.echo(83, 8))
                .send(call(3 - version, 84))
                .send(versionError(xid, version, 1, 2))
                .send(error(FuzzScript.xid(1), version, RdmaErrorMessage.ERR_CHUNK))
                .send(error(85, version, RdmaErrorMessage.ERR_CHUNK))
                .send(header(version, 86, MSG, REPLY), Rpc.reply(86))
                .bytes();
    }

    private static byte[] longMessages(int variant) {
        int version = version(variant);
        byte[] call = echo(90, 5000);
        int xid = FuzzScript.xid(1);
        return begun(variant)
                .step(Op.EXPOSE, 0, call)
                .step(Op.EXPOSE, 0, new byte[4])
                .send(reading(header(version, 90, NOMSG, CALL), 0, 0, call.length), nothing())
                .reply(0, 8)
                .step(Op.EXPOSE, 0, FuzzSeeds.reply(xid, 2000))
                .send(reading(header(version, xid, NOMSG, REPLY), 0, 2, 2000), nothing())
                .step(Op.EXPOSE, 0, new byte[4])
                .step(Op.EXPOSE, 0, FuzzSeeds.reply(92, 2000))
                .send(reading(header(version, 92, NOMSG, REPLY), 0, 4, 2000), nothing())
                .send(call(version, 91))
                .reply(0, 6000)
                .send(ReadChunks.done(91))
                .call(2)
                .call(3)
                .bytes();
    }

    private static ByteBuf nothing() {
        return RawPeer.nothing();
    }

    private static byte[] givenUp(int variant) {
        return begun(variant)
                .call(1)
                .step(Op.CANCEL, 0)
                .step(Op.CANCEL, FuzzScript.NOT_FENCED)
                .step(Op.MIRROR, 1)
                .step(Op.MIRROR, 2)
                .step(Op.MIRROR, 2)
                .call(0)
                .step(Op.MIRROR, 3)
                .bytes();
    }

    private static byte[] closed(int variant) {
        return begun(variant).call(0).send(call(version(variant), 95)).step(Op.CLOSE, 0).bytes();
    }
}
