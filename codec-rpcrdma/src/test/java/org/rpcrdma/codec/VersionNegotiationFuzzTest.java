// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.rpcrdma.codec.FuzzSeeds.MSG;
import static org.rpcrdma.codec.FuzzSeeds.NOMSG;
import static org.rpcrdma.codec.FuzzSeeds.REPLY;
import static org.rpcrdma.codec.FuzzSeeds.error;
import static org.rpcrdma.codec.FuzzSeeds.one;
import static org.rpcrdma.codec.FuzzSeeds.option;
import static org.rpcrdma.codec.FuzzSeeds.reading;
import static org.rpcrdma.codec.FuzzSeeds.two;
import static org.rpcrdma.codec.FuzzSeeds.versionError;

import io.netty.buffer.ByteBuf;
import java.util.stream.Stream;
import org.rpcrdma.codec.FuzzScript.Op;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/** A requester that proposes version 2: the probe and all answers to it, then calls and optional operations. */
class VersionNegotiationFuzzTest extends ConnectionFuzzTarget {

    private static final int FREE =
            FuzzRun.READ_CHUNK_REPLIES | FuzzRun.COMPLETES_IN_TWO | FuzzRun.NO_REPLY_CHUNKS;

    /** The probe is the first call that comes. */
    private static final int PROBE = FuzzScript.xid(0);

    @Override
    int variant(int chosen) {
        return FuzzRun.SPEAKS_TWO | (chosen & FREE);
    }

    @Override
    protected Stream<byte[]> seeds() {
        Stream<byte[]> answers =
                Stream.of(
                                RawPeer.message(two(PROBE, MSG, REPLY), Rpc.reply(PROBE)),
                                RawPeer.message(one(PROBE, MSG), Rpc.reply(PROBE)),
                                versionError(PROBE, 2, 1, 1),
                                versionError(PROBE, 1, 1, 1),
                                versionError(PROBE, 7, 1, 2),
                                versionError(PROBE, 2, 2, 2),
                                versionError(PROBE, 2, 3, 4),
                                versionError(PROBE, 2, 0, 0),
                                versionError(PROBE, 2, 2, 1),
                                error(PROBE, 1, RdmaErrorMessage.ERR_CHUNK),
                                error(PROBE, 2, RdmaErrorMessage.INVAL_OPTION),
                                error(PROBE, 2, 4),
                                RawPeer.message(two(PROBE, MSG, 0), Rpc.echo(PROBE, 8)),
                                option(PROBE, REPLY, 7, new byte[0], RawPeer.nothing()))
                        .map(
                                answer ->
                                        FuzzScript.variant(0)
                                                .call(0)
                                                .call(1)
                                                .send(answer)
                                                .step(Op.MIRROR, 1)
                                                .step(Op.CANCEL, 1)
                                                .bytes());
        return Stream.concat(
                answers, Stream.of(calls(), options(), cancelled(), queued(), closed(), offered()));
    }

    private static byte[] calls() {
        FuzzScript.Builder script = FuzzScript.variant(0).call(0).step(Op.MIRROR, 0);
        for (int kind = 0; kind < 6; kind++) {
            script.call(kind);
        }
        TransportHeader placed = two(FuzzScript.xid(5), MSG, REPLY);
        placed.writes().add(FuzzScript.theirs(5), 96, 0);
        placed.writes().endChunk();
        ByteBuf results = Rpc.read3Reply(FuzzScript.xid(5), new byte[0]);
        results.setInt(results.writerIndex() - 4, 96);
        for (int call = 1; call < 5; call++) {
            script.step(Op.MIRROR, call, new byte[8]);
        }
        return script.step(Op.PUSH, 5, Rpc.random(96))
                .send(placed, results)
                .send(error(FuzzScript.xid(6), 2, RdmaErrorMessage.ERR_CHUNK))
                .bytes();
    }

    private static byte[] options() {
        int[] types = FuzzUser.OPTIONS;
        return FuzzScript.variant(0)
                .step(Op.OPTION, 0, new byte[] {'a'})
                .step(Op.OPTION, 1, new byte[0])
                .step(Op.OPTION, 2, new byte[] {'b', 'c', 'd', 'e', 'f'})
                .step(Op.MIRROR, 0)
                .step(Op.OPTION, 2, new byte[] {'g'})
                .send(option(FuzzScript.xid(1), REPLY, types[0], new byte[] {1}, RawPeer.nothing()))
                .send(
                        option(
                                FuzzScript.xid(2),
                                REPLY,
                                types[1],
                                new byte[0],
                                Rpc.reply(FuzzScript.xid(2))))
                .send(error(FuzzScript.xid(3), 2, RdmaErrorMessage.INVAL_OPTION))
                .send(two(FuzzScript.xid(4), MSG, REPLY), Rpc.reply(FuzzScript.xid(4)))
                .send(error(FuzzScript.xid(4), 2, RdmaErrorMessage.ERR_CHUNK))
                .bytes();
    }

    private static byte[] cancelled() {
        return FuzzScript.variant(0)
                .call(0)
                .call(1)
                .step(Op.CANCEL, 0)
                .step(Op.MIRROR, 0)
                .call(3)
                .step(Op.CANCEL, 1)
                .step(Op.CANCEL, FuzzScript.NOT_FENCED)
                .step(Op.MIRROR, 1)
                .step(Op.MIRROR, 2)
                .bytes();
    }

    /** More calls than there are credits; the last ones are given up before they are sent. */
    private static byte[] queued() {
        FuzzScript.Builder script = FuzzScript.variant(0).call(0).step(Op.MIRROR, 0);
        for (int i = 0; i < 11; i++) {
            script.call(0);
        }
        return script.step(Op.CANCEL, 11)
                .step(Op.CANCEL, 9)
                .step(Op.MIRROR, 1)
                .step(Op.MIRROR, 2)
                .bytes();
    }

    private static byte[] closed() {
        return FuzzScript.variant(0).call(0).step(Op.OPTION, 0).step(Op.CLOSE, 1).call(0).bytes();
    }

    /** The answers to the probe and to a call are to be read. */
    private static byte[] offered() {
        FuzzScript.Builder script =
                FuzzScript.variant(
                        FuzzRun.READ_CHUNK_REPLIES
                                | FuzzRun.COMPLETES_IN_TWO
                                | FuzzRun.NO_REPLY_CHUNKS);
        script.call(0);
        for (int call = 0; call < 2; call++) {
            int xid = FuzzScript.xid(call);
            script.step(Op.EXPOSE, 0, FuzzSeeds.reply(xid, 2000))
                    .step(Op.EXPOSE, 0, new byte[4])
                    .send(reading(two(xid, NOMSG, REPLY), 0, 2 * call, 2000), RawPeer.nothing());
        }
        return script.bytes();
    }
}
