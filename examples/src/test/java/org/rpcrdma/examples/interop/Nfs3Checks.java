// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.examples.common.Xdr;

/**
 * Every procedure of NFSv3 (RFC 1813, 3.3), and what RPC-over-RDMA makes of large and of unaligned ones. Each effect is
 * seen by another procedure.
 */
final class Nfs3Checks {

    private static final int PROGRAM = 100003;
    private static final int VERSION = 3;
    private static final int DIRECTORY = 2;
    private static final int SYMBOLIC_LINK = 5;
    private static final int FIFO = 7;
    private static final int ATTRIBUTES = 84;
    private static final int FILE_SYNC = 2;
    private static final int NOENT = 2;
    private static final int MIB = 1 << 20;

    /** A sattr3 that leaves all alone: six words. */
    private static final int NOTHING_SET = 6 * 4;

    private final Peer peer;
    private final byte[] root;
    private final Random random = new Random(8166);

    Nfs3Checks(Peer peer, byte[] root) {
        this.peer = peer;
        this.root = root;
    }

    void run(Report report) {
        report.check("NFSv3 NULL", this::nothing);
        report.check("NFSv3 GETATTR", () -> same("type of the root", DIRECTORY, type(root)));
        report.check("NFSv3 MKDIR, LOOKUP and RMDIR", this::directories);
        report.check("NFSv3 CREATE, SETATTR and ACCESS", this::attributes);
        report.check("NFSv3 SYMLINK and READLINK, short and long", this::links);
        report.check("NFSv3 LINK, RENAME and REMOVE", this::names);
        report.check("NFSv3 READDIR", this::plainListing);
        report.check("NFSv3 FSSTAT, FSINFO and PATHCONF", this::fileSystem);
        runData(report);
        report.check("NFSv3 READ at the end of a file, and after it", this::shortReads);
    }

    /** What moves data by chunks. */
    void runData(Report report) {
        report.check("NFSv3 WRITE, COMMIT and READ of every alignment", this::alignments);
        report.check("NFSv3 WRITE from and READ into the caller's own memory", this::ownMemory);
    }

    /** What a server may refuse (RFC 1813, 3.3.11), and the example's does. */
    void runSpecialFiles(Report report) {
        report.check("NFSv3 MKNOD", this::specialFile);
    }

    private void nothing() throws Exception {
        ByteBuf results = results(Nfsproc3.NULL, call -> {});
        same("bytes of results", 0, results.readableBytes());
        results.release();
    }

    private void directories() throws Exception {
        byte[] made = made(Nfsproc3.MKDIR, "d", Nfs3Checks::setNothing);
        same("handle", ByteBufUtil.hexDump(made), ByteBufUtil.hexDump(lookup(root, "d")));
        same("type", DIRECTORY, type(made));
        done(Nfsproc3.RMDIR, "d");
        same("LOOKUP's status", NOENT, status(Nfsproc3.LOOKUP, call -> name(call, root, "d")));
    }

    private void attributes() throws Exception {
        byte[] file = create("a");
        same(
                "SETATTR's status",
                0,
                status(
                        Nfsproc3.SETATTR,
                        call -> handle(call, file).writeInt(1).writeInt(0640).writeZero(24)));
        ByteBuf results = accepted(Nfsproc3.GETATTR, call -> handle(call, file));
        results.skipBytes(4);
        same("mode", 0640, results.readInt() & 07777);
        results.release();
        results = accepted(Nfsproc3.ACCESS, call -> handle(call, file).writeInt(0x3f));
        skipAttributes(results);
        holds((results.readInt() & 1) == 1, "root may not read");
        results.release();
        done(Nfsproc3.REMOVE, "a");
    }

    private void links() throws Exception {
        for (int length : new int[] {1, 6, 4000}) {
            String target = "t".repeat(length);
            made(
                    Nfsproc3.SYMLINK,
                    "l",
                    call -> {
                        setNothing(call);
                        Xdr.writeString(call, target);
                    });
            byte[] link = lookup(root, "l");
            same("type", SYMBOLIC_LINK, type(link));
            ByteBuf results = accepted(Nfsproc3.READLINK, call -> handle(call, link));
            skipAttributes(results);
            same("target", target, Xdr.readString(results, 4096));
            results.release();
            done(Nfsproc3.REMOVE, "l");
        }
    }

    private void specialFile() throws Exception {
        byte[] fifo =
                made(
                        Nfsproc3.MKNOD,
                        "p",
                        call -> {
                            call.writeInt(FIFO);
                            setNothing(call);
                        });
        same("type", FIFO, type(fifo));
        done(Nfsproc3.REMOVE, "p");
    }

    private void names() throws Exception {
        byte[] file = create("one");
        same(
                "LINK's status",
                0,
                status(Nfsproc3.LINK, call -> name(handle(call, file), root, "two")));
        same("links", 2, linksOf(file));
        same(
                "RENAME's status",
                0,
                status(Nfsproc3.RENAME, call -> name(name(call, root, "two"), root, "three")));
        same("old name", NOENT, status(Nfsproc3.LOOKUP, call -> name(call, root, "two")));
        same("handle", ByteBufUtil.hexDump(file), ByteBufUtil.hexDump(lookup(root, "three")));
        done(Nfsproc3.REMOVE, "one");
        done(Nfsproc3.REMOVE, "three");
        same("LOOKUP's status", NOENT, status(Nfsproc3.LOOKUP, call -> name(call, root, "three")));
    }

    private void fileSystem() throws Exception {
        ByteBuf results = accepted(Nfsproc3.FSSTAT, call -> handle(call, root));
        skipAttributes(results);
        holds(results.readLong() > 0, "no bytes in all");
        results.release();
        results = accepted(Nfsproc3.FSINFO, call -> handle(call, root));
        skipAttributes(results);
        int largestRead = results.readInt();
        holds(largestRead >= MIB, "rtmax " + largestRead);
        results.release();
        results = accepted(Nfsproc3.PATHCONF, call -> handle(call, root));
        skipAttributes(results);
        results.skipBytes(4);
        same("the longest name", 255, results.readInt());
        results.release();
    }

    private void alignments() throws Exception {
        byte[] file = create("x");
        int[] lengths = {
            1, 2, 3, 4, 5, 3999, 4000, 4001, 4093, 4096, 4099, 65535, 65537, MIB - 1, MIB
        };
        for (int length : lengths) {
            int offset = random.nextInt(5000);
            byte[] data = bytes(length);
            ByteBuf results =
                    accepted(
                            Nfsproc3.WRITE,
                            call -> {
                                handle(call, file).writeLong(offset).writeInt(length).writeInt(0);
                                Xdr.writeOpaque(call, data);
                            });
            skipWcc(results);
            same("bytes written", length, results.readInt());
            results.release();
            results =
                    accepted(Nfsproc3.COMMIT, call -> handle(call, file).writeLong(0).writeInt(0));
            results.release();
            results =
                    accepted(
                            Nfsproc3.READ,
                            call -> handle(call, file).writeLong(offset).writeInt(length));
            skipAttributes(results);
            same("bytes read", length, results.readInt());
            results.skipBytes(4);
            holds(
                    Arrays.equals(data, Xdr.readOpaque(results, length)),
                    length + " bytes at " + offset + " came back changed");
            same("bytes after the data", 0, results.readableBytes());
            results.release();
        }
        done(Nfsproc3.REMOVE, "x");
    }

    /** Arguments and results have memory of their own, on both sides of guard bytes (RFC 8166, 3.4). */
    private void ownMemory() throws Exception {
        byte[] file = create("y");
        byte[] data = bytes(300_001);
        ByteBuf call = Peer.call(PROGRAM, VERSION, Nfsproc3.WRITE.number());
        handle(call, file)
                .writeLong(0)
                .writeInt(data.length)
                .writeInt(FILE_SYNC)
                .writeInt(data.length);
        RpcMessage write = new RpcMessage(call);
        write.addItem(call.readableBytes(), Unpooled.directBuffer().writeBytes(data));
        RpcMessage written = peer.await(write);
        ByteBuf results = Peer.skipHeader(written.content());
        same("WRITE's status", 0, results.readInt());
        skipWcc(results);
        same("bytes written", data.length, results.readInt());
        written.release();

        ByteBuf sink = Unpooled.directBuffer(16 + data.length + 16);
        sink.writeZero(sink.capacity()).setByte(15, 'b').setByte(16 + data.length, 'a');
        call = Peer.call(PROGRAM, VERSION, Nfsproc3.READ.number());
        handle(call, file).writeLong(0).writeInt(data.length);
        ByteBuf offered = sink.retainedSlice(16, data.length).writerIndex(0);
        RpcMessage read = peer.await(new RpcMessage(call).addSink(offered));
        try {
            results = Peer.skipHeader(read.content());
            same("READ's status", 0, results.readInt());
            skipAttributes(results);
            same("bytes read", data.length, results.readInt());
            same("bytes in the sink", data.length, read.sinkLength(0));
            holds(
                    ByteBufUtil.equals(Unpooled.wrappedBuffer(data), 0, sink, 16, data.length),
                    "the sink does not have the data");
            same("the byte before the sink", (byte) 'b', sink.getByte(15));
            same("the byte after the sink", (byte) 'a', sink.getByte(16 + data.length));
        } finally {
            read.release();
            sink.release();
        }
        done(Nfsproc3.REMOVE, "y");
    }

    private void shortReads() throws Exception {
        byte[] file = create("z");
        ByteBuf results =
                accepted(
                        Nfsproc3.WRITE,
                        call -> {
                            handle(call, file).writeLong(0).writeInt(7).writeInt(FILE_SYNC);
                            Xdr.writeString(call, "seven b");
                        });
        results.release();
        for (int offset : new int[] {0, 4, 7, 100}) {
            results =
                    accepted(
                            Nfsproc3.READ,
                            call -> handle(call, file).writeLong(offset).writeInt(65536));
            skipAttributes(results);
            same("bytes read at " + offset, Math.max(0, 7 - offset), results.readInt());
            same("end of file at " + offset, 1, results.readInt());
            same(
                    "data at " + offset,
                    "seven b".substring(Math.min(7, offset)),
                    Xdr.readString(results, 7));
            results.release();
        }
        done(Nfsproc3.REMOVE, "z");
    }

    private void plainListing() throws Exception {
        create("listed");
        ByteBuf results =
                accepted(
                        Nfsproc3.READDIR,
                        call -> handle(call, root).writeLong(0).writeLong(0).writeInt(32768));
        skipAttributes(results);
        results.skipBytes(8);
        Set<String> names = new HashSet<>();
        while (results.readInt() != 0) {
            results.skipBytes(8);
            names.add(Xdr.readString(results, 255));
            results.skipBytes(8);
        }
        results.release();
        holds(names.contains("listed"), "the new file is not among " + names);
        done(Nfsproc3.REMOVE, "listed");
    }

    /**
     * Lists a directory in pages as large as an RPC-over-RDMA reply gets.
     *
     * @return the names, without {@code .} and {@code ..}; and the bytes of the longest page's results in
     *     {@code longest[0]}
     */
    Set<String> list(byte[] directory, int pageBytes, int[] longest) throws Exception {
        Set<String> names = new HashSet<>();
        long cookie = 0;
        long verifier = 0;
        boolean last = false;
        while (!last) {
            long from = cookie;
            long with = verifier;
            ByteBuf results =
                    accepted(
                            Nfsproc3.READDIRPLUS,
                            call ->
                                    handle(call, directory)
                                            .writeLong(from)
                                            .writeLong(with)
                                            .writeInt(pageBytes)
                                            .writeInt(pageBytes));
            longest[0] = Math.max(longest[0], results.readableBytes());
            skipAttributes(results);
            verifier = results.readLong();
            while (results.readInt() != 0) {
                results.skipBytes(8);
                String name = Xdr.readString(results, 255);
                holds(names.add(name), name + " came twice");
                cookie = results.readLong();
                skipAttributes(results);
                if (results.readInt() != 0) {
                    Xdr.readOpaque(results, 64);
                }
            }
            last = results.readInt() != 0;
            results.release();
        }
        names.removeAll(List.of(".", ".."));
        return names;
    }

    byte[] lookup(byte[] directory, String name) throws Exception {
        ByteBuf results = accepted(Nfsproc3.LOOKUP, call -> name(call, directory, name));
        byte[] handle = Xdr.readOpaque(results, 64);
        results.release();
        return handle;
    }

    byte[] create(String name) throws Exception {
        return made(
                Nfsproc3.CREATE,
                name,
                call -> {
                    call.writeInt(0);
                    setNothing(call);
                });
    }

    /** What CREATE, MKDIR, SYMLINK and MKNOD have in common. */
    private byte[] made(Nfsproc3 procedure, String name, Consumer<ByteBuf> what) throws Exception {
        ByteBuf results =
                accepted(
                        procedure,
                        call -> {
                            name(call, root, name);
                            what.accept(call);
                        });
        boolean says = results.readInt() != 0;
        byte[] handle = says ? Xdr.readOpaque(results, 64) : null;
        results.release();
        return says ? handle : lookup(root, name);
    }

    /** REMOVE or RMDIR. */
    void done(Nfsproc3 procedure, String name) throws Exception {
        same(
                "status of the removal of " + name,
                0,
                status(procedure, call -> name(call, root, name)));
    }

    private int type(byte[] handle) throws Exception {
        ByteBuf results = accepted(Nfsproc3.GETATTR, call -> handle(call, handle));
        int type = results.readInt();
        results.release();
        return type;
    }

    private int linksOf(byte[] handle) throws Exception {
        ByteBuf results = accepted(Nfsproc3.GETATTR, call -> handle(call, handle));
        int links = results.skipBytes(8).readInt();
        results.release();
        return links;
    }

    private ByteBuf accepted(Nfsproc3 procedure, Consumer<ByteBuf> arguments) throws Exception {
        ByteBuf results = results(procedure, arguments);
        int status = results.readInt();
        if (status != 0) {
            results.release();
            throw new AssertionError(procedure + " answers with status " + status);
        }
        return results;
    }

    private int status(Nfsproc3 procedure, Consumer<ByteBuf> arguments) throws Exception {
        ByteBuf results = results(procedure, arguments);
        int status = results.readInt();
        results.release();
        return status;
    }

    private ByteBuf results(Nfsproc3 procedure, Consumer<ByteBuf> arguments) throws Exception {
        return peer.results(PROGRAM, VERSION, procedure.number(), arguments);
    }

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    static ByteBuf handle(ByteBuf call, byte[] handle) {
        Xdr.writeOpaque(call, handle);
        return call;
    }

    private static ByteBuf name(ByteBuf call, byte[] directory, String name) {
        handle(call, directory);
        Xdr.writeString(call, name);
        return call;
    }

    private static void setNothing(ByteBuf call) {
        call.writeZero(NOTHING_SET);
    }

    private static void skipAttributes(ByteBuf results) {
        if (results.readInt() != 0) {
            results.skipBytes(ATTRIBUTES);
        }
    }

    private static void skipWcc(ByteBuf results) {
        if (results.readInt() != 0) {
            results.skipBytes(24);
        }
        skipAttributes(results);
    }
}
