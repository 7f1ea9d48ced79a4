// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Consumer;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.examples.common.Xdr;

/**
 * Several READs in one COMPOUND of NFSv4.2, each with a Write chunk (RFC 8267, 6.4.1). Those behind the end of the file
 * have no bytes, and leave their chunks to the next.
 */
final class Nfs4ReadChecks {

    private static final int LOOKUP = 15;
    private static final int READ = 25;
    private static final int WRITE = 38;
    private static final int READ_PLUS = 68;

    private static final int STATE_ID = 16;
    private static final int SIZE = 70_003;

    private final byte[] data = new byte[SIZE];
    private final Nfs4Session session;

    /**
     * @param peer with a client that is configured for several chunks in a call
     */
    Nfs4ReadChecks(Peer peer) {
        new Random(5661).nextBytes(data);
        session = new Nfs4Session(peer, "interop reads", 2);
    }

    /** @param file to be written and read; it exists, and is empty */
    void run(Report report, String file) {
        report.check("NFSv4.2 EXCHANGE_ID and CREATE_SESSION", () -> session.open(0));
        report.check("NFSv4.2 WRITE", () -> write(file));
        report.check("two READs in one COMPOUND", () -> read(file, 0, 5001, 1000, 9000));
        report.check(
                "two READs in one COMPOUND, the first at the end of the file",
                () -> {
                    read(file, SIZE, 10, 0, SIZE);
                    read(file, SIZE, SIZE, 1000, 9000);
                });
        report.check(
                "two READs in one COMPOUND, the last at the end of the file",
                () -> read(file, 0, SIZE, SIZE, 4096));
        report.check(
                "several READs in one COMPOUND, some at the end of the file and some of no bytes",
                () -> {
                    read(file, 0, 5001, SIZE, SIZE, 1000, 9000);
                    read(file, SIZE, 1, SIZE + 9999, 1, 3, 20_000);
                    read(file, 0, 0, SIZE, 7, 0, 9000, SIZE - 1, 9000, 0, 0, 5, 6000);
                });
        report.check(
                "a READ at the end of the file leaves its Write chunk to the next",
                () -> readIntoSinks(file));
        report.check("a READ beside a READ_PLUS", () -> readPlus(file));
        report.check("NFSv4.2 DESTROY_SESSION", session::close);
    }

    private void write(String file) throws Exception {
        ByteBuf results =
                session.call(
                        2,
                        call -> {
                            lookup(call, file);
                            call.writeInt(WRITE).writeZero(STATE_ID).writeLong(0).writeInt(2);
                            Xdr.writeOpaque(call, data);
                        });
        Nfs4Session.expect(results, LOOKUP);
        Nfs4Session.expect(results, WRITE);
        same("bytes written", SIZE, results.readInt());
        results.release();
    }

    private static void lookup(ByteBuf call, String file) {
        Xdr.writeString(call.writeInt(LOOKUP), file);
    }

    private static void writeRead(ByteBuf call, int operation, int offset, int count) {
        call.writeInt(operation).writeZero(STATE_ID).writeLong(offset).writeInt(count);
    }

    private static Consumer<ByteBuf> reads(String file, int... ranges) {
        return call -> {
            lookup(call, file);
            for (int i = 0; i < ranges.length; i += 2) {
                writeRead(call, READ, ranges[i], ranges[i + 1]);
            }
        };
    }

    /** @param ranges of the file: pairs of an offset and a count */
    private void read(String file, int... ranges) throws Exception {
        ByteBuf results = session.call(1 + ranges.length / 2, reads(file, ranges));
        Nfs4Session.expect(results, LOOKUP);
        for (int i = 0; i < ranges.length; i += 2) {
            expectData(results, ranges[i], ranges[i + 1]);
        }
        same("bytes behind the last READ", 0, results.readableBytes());
        results.release();
    }

    private void expectData(ByteBuf results, int offset, int count) {
        int length = Math.max(0, Math.min(count, SIZE - offset));
        Nfs4Session.expect(results, READ);
        results.skipBytes(4);
        same("bytes read of " + count + " at " + offset, length, results.readInt());
        byte[] read = ByteBufUtil.getBytes(results.readSlice(length));
        holds(
                length == 0
                        || Arrays.equals(read, Arrays.copyOfRange(data, offset, offset + length)),
                length + " bytes at " + offset + " came back changed");
        results.skipBytes(-length & 3);
    }

    /** The sinks say where the data of which READ are. */
    private void readIntoSinks(String file) throws Exception {
        RpcMessage reply =
                session.call(
                        3,
                        reads(file, SIZE, 9000, 1000, 9000),
                        Unpooled.directBuffer(9000, 9000),
                        Unpooled.directBuffer(9000, 9000));
        try {
            same("bytes in the first sink", 9000, reply.sinkLength(0));
            same("bytes in the second sink", 0, reply.sinkLength(1));
            holds(
                    Arrays.equals(
                            ByteBufUtil.getBytes(reply.sink(0)),
                            Arrays.copyOfRange(data, 1000, 10_000)),
                    "the first sink does not have the data of the second READ");
        } finally {
            reply.release();
        }
    }

    /** The data of both come with the payload. */
    private void readPlus(String file) throws Exception {
        ByteBuf results =
                session.call(
                        3,
                        call -> {
                            lookup(call, file);
                            writeRead(call, READ, 0, 9000);
                            writeRead(call, READ_PLUS, 1000, 9000);
                        });
        Nfs4Session.expect(results, LOOKUP);
        expectData(results, 0, 9000);
        Nfs4Session.expect(results, READ_PLUS);
        results.skipBytes(4);
        same("segments of READ_PLUS", 1, results.readInt());
        same("content of the segment", 0, results.readInt());
        same("offset of the segment", 1000L, results.readLong());
        same("bytes of the segment", 9000, results.readInt());
        holds(
                Arrays.equals(
                        ByteBufUtil.getBytes(results.readSlice(9000)),
                        Arrays.copyOfRange(data, 1000, 10_000)),
                "the data came back changed");
        results.release();
    }
}
