// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.rpcrdma.examples.common.Xdr;

/** One session of NFSv4.1 (RFC 8881): COMPOUNDs with READ, WRITE and READDIR among their operations. */
final class Nfs4Checks {

    private static final int LOOKUP = 15;
    private static final int READ = 25;
    private static final int READDIR = 26;
    private static final int WRITE = 38;

    private static final int STATE_ID = 16;

    private final Random random = new Random(8267);
    private final Nfs4Session session;

    Nfs4Checks(Peer peer) {
        session = new Nfs4Session(peer, "interop");
    }

    /** @param file to be written and read; it exists, and is empty */
    void run(Report report, String file) {
        report.check("NFSv4.1 EXCHANGE_ID and CREATE_SESSION", () -> session.open(0));
        for (int length : new int[] {5, 4001, 70_003, 1 << 20}) {
            report.check(
                    "NFSv4.1 WRITE and READ of " + length + " bytes",
                    () -> roundTrip(file, length));
        }
        report.check("NFSv4.1 READDIR", () -> ServerProbe.sameNames(list("names")));
        report.check("NFSv4.1 DESTROY_SESSION", session::close);
    }

    /** The special stateids stand for no open file (RFC 8881, 8.2.3). */
    private void roundTrip(String file, int length) throws Exception {
        byte[] data = new byte[length];
        random.nextBytes(data);
        ByteBuf results =
                session.call(
                        2,
                        call -> {
                            call.writeInt(LOOKUP);
                            Xdr.writeString(call, file);
                            call.writeInt(WRITE).writeZero(STATE_ID).writeLong(0).writeInt(2);
                            Xdr.writeOpaque(call, data);
                        });
        Nfs4Session.expect(results, LOOKUP);
        Nfs4Session.expect(results, WRITE);
        same("bytes written", length, results.readInt());
        results.release();
        results =
                session.call(
                        2,
                        call -> {
                            call.writeInt(LOOKUP);
                            Xdr.writeString(call, file);
                            call.writeInt(READ).writeZero(STATE_ID).writeLong(0).writeInt(length);
                        });
        Nfs4Session.expect(results, LOOKUP);
        Nfs4Session.expect(results, READ);
        results.skipBytes(4);
        same("bytes read", length, results.readInt());
        holds(
                ByteBufUtil.equals(
                        Unpooled.wrappedBuffer(data), 0, results, results.readerIndex(), length),
                "the data came back changed");
        results.release();
    }

    private Set<String> list(String directory) throws Exception {
        Set<String> names = new HashSet<>();
        long[] cookie = {0, 0};
        boolean last = false;
        while (!last) {
            ByteBuf results =
                    session.call(
                            2,
                            call -> {
                                call.writeInt(LOOKUP);
                                Xdr.writeString(call, directory);
                                call.writeInt(READDIR).writeLong(cookie[0]).writeLong(cookie[1]);
                                call.writeInt(200_000).writeInt(200_000).writeInt(0);
                            });
            Nfs4Session.expect(results, LOOKUP);
            Nfs4Session.expect(results, READDIR);
            cookie[1] = results.readLong();
            while (results.readInt() != 0) {
                cookie[0] = results.readLong();
                names.add(Xdr.readString(results, 255));
                results.skipBytes(4 * results.readInt());
                results.skipBytes(results.readInt());
            }
            last = results.readInt() != 0;
            results.release();
        }
        return names;
    }
}
