// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.export.UnixAttributes;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** READ, WRITE and COMMIT (RFC 1813, 3.3.6, 3.3.7 and 3.3.21): each acts on one open file. */
final class Nfs3Data {

    /** The most bytes in one READ or WRITE. */
    static final int TRANSFER_MAX = 1 << 20;

    /** {@code stable_how}. */
    private static final int UNSTABLE = 0;

    private static final int FILE_SYNC = 2;

    private final Nfs3Files files;

    /** Changes when the server starts, so that clients write again what they have not committed (RFC 1813, 4.8). */
    private final long writeVerifier = System.currentTimeMillis() << 20 ^ System.nanoTime();

    Nfs3Data(Nfs3Files files) {
        this.files = files;
    }

    XdrEncodable read(Nfs3Call call) throws IOException {
        NfsHandle handle = call.readHandle();
        long asked = call.in().readLong();
        // Behind the end, as any that no file has (RFC 1813, 3.3.6).
        long offset = asked < 0 ? Long.MAX_VALUE : asked;
        long wanted = Math.min(call.in().readUnsignedInt(), TRANSFER_MAX);
        return files.onFile(
                handle,
                file -> {
                    try (OpenFile open = files.open(file, StandardOpenOption.READ)) {
                        UnixAttributes attributes = open.attributes();
                        call.caller().requireData(Caller.READ, attributes);
                        long left = attributes.size() - offset;
                        int count = (int) Math.max(0, Math.min(wanted, left));
                        return read(open, offset, call.newData(count), count);
                    }
                });
    }

    /** File data go into the memory that the reply is sent from. */
    private static XdrEncodable read(OpenFile file, long offset, ByteBuf data, int count)
            throws IOException {
        int n = 0;
        while (n >= 0 && data.readableBytes() < count) {
            int got = data.readableBytes();
            n = data.writeBytes(file.channel(), offset + got, count - got);
        }
        UnixAttributes after = file.attributes();
        int length = data.readableBytes();
        return out ->
                out.write(after.optional())
                        .writeInt(length)
                        .writeBoolean(offset + length >= after.size())
                        .writeItem(data.retain());
    }

    /** File data go from the arguments to the file. */
    XdrEncodable write(Nfs3Call call) throws IOException {
        XdrReader in = call.in();
        NfsHandle handle = call.readHandle();
        long offset = in.readLong();
        long count = in.readUnsignedInt();
        int stable = in.readInt();
        int length = in.readCount(Integer.MAX_VALUE, 1);
        if (stable < UNSTABLE || stable > FILE_SYNC || count > length) {
            throw new MalformedXdrException(
                    "stable_how " + stable + ", " + count + " bytes of " + length);
        }
        if (offset < 0 || offset + count < 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_FBIG, "an offset of 2^63 or more");
        }
        ByteBuf data = in.buffer().slice(in.buffer().readerIndex(), (int) count);
        return files.changing(handle, file -> write(file, offset, data, stable, call.caller()));
    }

    private XdrEncodable write(Located file, long offset, ByteBuf data, int stable, Caller caller)
            throws IOException {
        int count = data.readableBytes();
        try (OpenFile open = files.open(file, StandardOpenOption.WRITE)) {
            UnixAttributes before = open.attributes();
            caller.requireData(Caller.WRITE, before);
            NewAttributes.dropPrivileges(open, before, caller);
            int put = 0;
            while (put < count) {
                put += data.getBytes(put, open.channel(), offset + put, count - put);
            }
            if (stable != UNSTABLE) {
                open.channel().force(stable == FILE_SYNC);
            }
            WccData changed = new WccData(before, open.attributes());
            return out ->
                    out.write(changed).writeInt(count).writeInt(stable).writeLong(writeVerifier);
        }
    }

    XdrEncodable commit(Nfs3Call call) throws IOException {
        files.requireWritable();
        return files.onFile(
                call.readHandle(),
                file -> {
                    // Its mode may have changed since it was written.
                    StandardOpenOption how =
                            Files.isWritable(file.path())
                                    ? StandardOpenOption.WRITE
                                    : StandardOpenOption.READ;
                    try (OpenFile open = files.open(file, how)) {
                        UnixAttributes before = open.attributes();
                        call.caller().requireData(Caller.WRITE, before);
                        open.channel().force(true);
                        WccData unchanged = new WccData(before, open.attributes());
                        return out -> out.write(unchanged).writeLong(writeVerifier);
                    }
                });
    }
}
