// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.rpcrdma.codec.FuzzSeeds.CALL;
import static org.rpcrdma.codec.FuzzSeeds.MSG;
import static org.rpcrdma.codec.FuzzSeeds.NOMSG;
import static org.rpcrdma.codec.FuzzSeeds.REPLY;
import static org.rpcrdma.codec.FuzzSeeds.echo;
import static org.rpcrdma.codec.FuzzSeeds.error;
import static org.rpcrdma.codec.FuzzSeeds.hex;
import static org.rpcrdma.codec.FuzzSeeds.one;
import static org.rpcrdma.codec.FuzzSeeds.option;
import static org.rpcrdma.codec.FuzzSeeds.reading;
import static org.rpcrdma.codec.FuzzSeeds.two;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.stream.Stream;
import org.rpcrdma.codec.FuzzScript.Op;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A responder of both versions: RDMA2 headers, optional operations, and what it answers to versions it does not speak.
 */
class VersionTwoFuzzTest extends ConnectionFuzzTarget {

    private static final int FREE =
            FuzzRun.READ_CHUNK_REPLIES | FuzzRun.COMPLETES_IN_TWO | FuzzRun.ADAPTIVE;

    @Override
    int variant(int chosen) {
        return FuzzRun.ACCEPTS | FuzzRun.SPEAKS_TWO | (chosen & FREE);
    }

    @Override
    protected Stream<byte[]> seeds() {
        return Stream.of(
                FuzzScript.variant(0)
                        .send(two(1, MSG, CALL), Rpc.echo(1, 8))
                        .reply(0, 8)
                        .send(one(2, MSG), Rpc.echo(2, 8))
                        .reply(0, 3000)
                        .send(two(3, MSG, CALL), Rpc.echo(3, 3000))
                        .reply(0, 4000)
                        .bytes(),
                FuzzScript.variant(0)
                        .send(call(1))
                        .reply(0, 2000)
                        .send(call(2))
                        .reply(0, 8)
                        .bytes(),
                golden(),
                badHeaders(),
                options(),
                longMessages(),
                chunks(),
                FuzzScript.variant(FuzzRun.ADAPTIVE)
                        .send(FuzzScript.AT_ONCE, call(1))
                        .send(FuzzScript.AT_ONCE, call(2))
                        .send(call(3))
                        .reply(1, 8)
                        .send(call(1))
                        .reply(0, 8)
                        .reply(0, 8)
                        .bytes(),
                readChunkReply());
    }

    private static ByteBuf call(int xid) {
        return RawPeer.message(two(xid, MSG, CALL), Rpc.echo(xid, 8));
    }

    /** The golden messages of the other tests of version 2. */
    private static byte[] golden() {
        return FuzzScript.variant(0)
                .send(
                        hex(
                                "CAFE0007 00000002 00000020 00000000 00000000 00000000 00000000"
                                        + " 00000000"))
                .send(
                        hex(
                                "CAFE0007 00000002 00000020 00000000 00000001 00000000 00000000"
                                        + " 00000000"))
                .send(hex("CAFE0009 00000002 00000010 00000004 00000002"))
                .send(hex("CAFE000B 00000003 00000010 00000004 00000001 00000001 00000002"))
                .send(new TransportHeader().set(0xCAFE000B, 3, 32, 0, CALL), Rpc.echo(5, 8))
                .bytes();
    }

    private static byte[] badHeaders() {
        FuzzScript.Builder script = FuzzScript.variant(0);
        for (int proc : new int[] {2, 3, 6, -1}) {
            script.send(two(proc, proc, CALL), Rpc.echo(proc, 8));
        }
        return script.send(two(7, MSG, 2), Rpc.echo(7, 8))
                .send(two(8, MSG, REPLY), Rpc.echo(8, 8))
                .send(two(9, NOMSG, CALL), RawPeer.nothing())
                .send(two(10, MSG, CALL), RawPeer.nothing())
                .send(error(11, 2, RdmaErrorMessage.INVAL_OPTION))
                .send(two(12, MSG, REPLY), Rpc.reply(12))
                .bytes();
    }

    private static byte[] options() {
        int[] types = FuzzUser.OPTIONS;
        return FuzzScript.variant(0)
                .send(option(1, CALL, types[0], new byte[] {'a', 'b'}, RawPeer.nothing()))
                .send(option(2, CALL, types[1], new byte[0], Rpc.echo(2, 8)))
                .send(option(3, CALL, types[2], new byte[] {'w'}, Rpc.echo(3, 12)))
                .send(option(3, CALL, types[2], new byte[] {'w'}, Rpc.echo(3, 12)))
                .send(option(4, CALL, types[2], new byte[] {'!', 0, 0}, RawPeer.nothing()))
                .send(option(5, CALL, 0x0AFF0099, new byte[0], RawPeer.nothing()))
                .send(option(6, REPLY, types[0], new byte[0], RawPeer.nothing()))
                .send(option(7, CALL, types[0], new byte[0], Unpooled.buffer().writeInt(1)))
                .send(option(8, CALL, types[1], new byte[0], Rpc.reply(8)))
                .send(option(9, 7, types[0], new byte[0], RawPeer.nothing()))
                .step(Op.ANSWER, 0)
                .bytes();
    }

    private static byte[] longMessages() {
        byte[] call = echo(1, 4000);
        TransportHeader two = reading(two(1, NOMSG, CALL), 0, 0, 2000);
        two.reads().add(0, FuzzScript.own(0), call.length - 2000, 2000);
        return FuzzScript.variant(0)
                .send(two(9, MSG, CALL), Rpc.echo(9, 8))
                .reply(0, 8)
                .step(Op.EXPOSE, 0, call)
                .send(two, RawPeer.nothing())
                .reply(0, 8)
                .step(Op.EXPOSE, 0, new byte[4])
                .step(Op.EXPOSE, 0, call)
                .send(reading(one(1, NOMSG), 0, 2, call.length), RawPeer.nothing())
                .reply(0, 8)
                .bytes();
    }

    /** A READ with a Write chunk and a Reply chunk, a WRITE with a Read chunk. */
    private static byte[] chunks() {
        TransportHeader read = two(1, MSG, CALL);
        read.writes().add(FuzzScript.own(1), 2000, 0);
        read.writes().endChunk();
        read.reply().setPresent();
        read.reply().add(FuzzScript.own(3), 1000, 0);
        TransportHeader longReply = two(3, MSG, CALL);
        longReply.reply().setPresent();
        longReply.reply().add(FuzzScript.own(5), 3000, 0);
        longReply.reply().add(FuzzScript.own(5), 3000, 3000);
        byte[] data = Rpc.random(999);
        byte[] whole = Rpc.bytes(Rpc.write3(2, data));
        int position = whole.length - 1000;
        return FuzzScript.variant(0)
                .step(Op.EXPOSE, 0, data)
                .step(Op.EXPOSE, 0, new byte[2000])
                .step(Op.EXPOSE, 0, new byte[4])
                .step(Op.EXPOSE, 0, new byte[1000])
                .send(read, Rpc.read3(1, 2000))
                .reply(0, 0x8000 | 1001)
                .send(
                        reading(two(2, MSG, CALL), position, 0, 999),
                        Unpooled.copiedBuffer(whole, 0, position))
                .reply(0, 100)
                .step(Op.EXPOSE, 0, new byte[4])
                .step(Op.EXPOSE, 0, new byte[6000])
                .send(longReply, Rpc.echo(3, 8))
                .reply(0, 5000)
                .bytes();
    }

    private static byte[] readChunkReply() {
        return FuzzScript.variant(FuzzRun.READ_CHUNK_REPLIES | FuzzRun.COMPLETES_IN_TWO)
                .send(call(1))
                .reply(0, 10_001)
                .step(Op.PULL, 0)
                .send(FuzzSeeds.completion(1))
                .send(FuzzSeeds.completion(1))
                .send(call(2))
                .bytes();
    }
}
