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
import java.util.function.Consumer;
import org.rpcrdma.codec.binding.Nfs4Binding;
import org.rpcrdma.examples.rpc.Xdr;

/** One session of NFSv4.1 (RFC 8881): COMPOUNDs with READ, WRITE and READDIR among their operations. */
final class Nfs4Checks {

    private static final int COMPOUND = 1;

    private static final int LOOKUP = 15;
    private static final int PUTROOTFH = 24;
    private static final int READ = 25;
    private static final int READDIR = 26;
    private static final int WRITE = 38;
    private static final int EXCHANGE_ID = 42;
    private static final int CREATE_SESSION = 43;
    private static final int DESTROY_SESSION = 44;
    private static final int SEQUENCE = 53;

    private static final int SESSION_ID = 16;
    private static final int STATE_ID = 16;

    private final Peer peer;
    private final Random random = new Random(8267);
    private final byte[] session = new byte[SESSION_ID];
    private int sequence;

    Nfs4Checks(Peer peer) {
        this.peer = peer;
    }

    /** @param file to be written and read; it exists, and is empty */
    void run(Report report, String file) {
        report.check("NFSv4.1 EXCHANGE_ID and CREATE_SESSION", this::open);
        for (int length : new int[] {5, 4001, 70_003, 1 << 20}) {
            report.check(
                    "NFSv4.1 WRITE and READ of " + length + " bytes",
                    () -> roundTrip(file, length));
        }
        report.check("NFSv4.1 READDIR", () -> ServerProbe.sameNames(list("names")));
        report.check("NFSv4.1 DESTROY_SESSION", this::close);
    }

    private void open() throws Exception {
        ByteBuf results =
                compound(
                        1,
                        call -> {
                            call.writeInt(EXCHANGE_ID).writeLong(System.nanoTime());
                            Xdr.writeString(call, "interop");
                            call.writeInt(0).writeInt(0).writeInt(0);
                        });
        expect(results, EXCHANGE_ID);
        long client = results.readLong();
        int first = results.readInt();
        results.release();
        results =
                compound(
                        1,
                        call -> {
                            call.writeInt(CREATE_SESSION).writeLong(client).writeInt(first);
                            call.writeInt(0);
                            channel(call, 2 << 20);
                            channel(call, 4096);
                            call.writeInt(0x40000000).writeInt(1).writeInt(0);
                        });
        expect(results, CREATE_SESSION);
        results.readBytes(session);
        results.release();
    }

    /** channel_attrs4. */
    private static void channel(ByteBuf call, int bytes) {
        call.writeInt(0).writeInt(bytes).writeInt(bytes).writeInt(4096);
        call.writeInt(16).writeInt(1).writeInt(0);
    }

    private void close() throws Exception {
        ByteBuf results = compound(1, call -> call.writeInt(DESTROY_SESSION).writeBytes(session));
        expect(results, DESTROY_SESSION);
        results.release();
    }

    /** The special stateids stand for no open file (RFC 8881, 8.2.3). */
    private void roundTrip(String file, int length) throws Exception {
        byte[] data = new byte[length];
        random.nextBytes(data);
        ByteBuf results =
                inSession(
                        2,
                        call -> {
                            call.writeInt(LOOKUP);
                            Xdr.writeString(call, file);
                            call.writeInt(WRITE).writeZero(STATE_ID).writeLong(0).writeInt(2);
                            Xdr.writeOpaque(call, data);
                        });
        expect(results, LOOKUP);
        expect(results, WRITE);
        same("bytes written", length, results.readInt());
        results.release();
        results =
                inSession(
                        2,
                        call -> {
                            call.writeInt(LOOKUP);
                            Xdr.writeString(call, file);
                            call.writeInt(READ).writeZero(STATE_ID).writeLong(0).writeInt(length);
                        });
        expect(results, LOOKUP);
        expect(results, READ);
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
                    inSession(
                            2,
                            call -> {
                                call.writeInt(LOOKUP);
                                Xdr.writeString(call, directory);
                                call.writeInt(READDIR).writeLong(cookie[0]).writeLong(cookie[1]);
                                call.writeInt(200_000).writeInt(200_000).writeInt(0);
                            });
            expect(results, LOOKUP);
            expect(results, READDIR);
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

    /** SEQUENCE, PUTROOTFH and what follows them; the results are at what follows. */
    private ByteBuf inSession(int operations, Consumer<ByteBuf> rest) throws Exception {
        sequence++;
        ByteBuf results =
                compound(
                        2 + operations,
                        call -> {
                            call.writeInt(SEQUENCE).writeBytes(session);
                            call.writeInt(sequence).writeInt(0).writeInt(0).writeInt(0);
                            call.writeInt(PUTROOTFH);
                            rest.accept(call);
                        });
        expect(results, SEQUENCE);
        results.skipBytes(SESSION_ID + 5 * 4);
        expect(results, PUTROOTFH);
        return results;
    }

    private ByteBuf compound(int operations, Consumer<ByteBuf> arguments) throws Exception {
        ByteBuf results =
                peer.results(
                        Nfs4Binding.PROGRAM,
                        4,
                        COMPOUND,
                        call -> {
                            call.writeInt(0).writeInt(1).writeInt(operations);
                            arguments.accept(call);
                        });
        results.skipBytes(4);
        results.skipBytes(results.readInt() + 3 & ~3);
        results.skipBytes(4);
        return results;
    }

    private static void expect(ByteBuf results, int operation) {
        same("operation", operation, results.readInt());
        same("status of operation " + operation, 0, results.readInt());
    }
}
