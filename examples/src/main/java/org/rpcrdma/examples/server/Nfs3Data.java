// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.nfs.nfs3.FileHandle;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant.WriteStableHow;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.COMMIT3Request;
import org.apache.hadoop.nfs.nfs3.request.READ3Request;
import org.apache.hadoop.nfs.nfs3.response.COMMIT3Response;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.nfs.nfs3.response.WRITE3Response;
import org.apache.hadoop.nfs.nfs3.response.WccData;
import org.apache.hadoop.oncrpc.XDR;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.export.UnixAttributes;

/** READ, WRITE and COMMIT (RFC 1813, 3.3.6, 3.3.7 and 3.3.21): each acts on one open file. */
final class Nfs3Data {

    /** The most bytes in one READ or WRITE. */
    static final int TRANSFER_MAX = 1 << 20;

    /** XID, message type, reply state, verifier (2), accept state, status, attributes follow. */
    private static final int READ_REPLY_START = 4 * 8;

    /** ... then attributes, count, end of file, length of data. */
    private static final int READ_REPLY_HEADER =
            READ_REPLY_START + UnixAttributes.WIRE_LENGTH + 3 * 4;

    private final Nfs3Files files;

    /** Changes when the server starts, so that clients write again what they have not committed (RFC 1813, 4.8). */
    private final long writeVerifier = System.currentTimeMillis() << 20 ^ System.nanoTime();

    Nfs3Data(Nfs3Files files) {
        this.files = files;
    }

    /** @return the whole RPC reply: file data goes into it without a copy between */
    ByteBuf read(Nfs3Call call) throws IOException {
        READ3Request request = READ3Request.deserialize(call.in());
        if (request.getOffset() < 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "an offset of 2^63 or more");
        }
        int wanted = (int) Math.min(Integer.toUnsignedLong(request.getCount()), TRANSFER_MAX);
        return files.onFile(
                request.getHandle(),
                file -> {
                    try (OpenFile open = files.open(file, StandardOpenOption.READ)) {
                        UnixAttributes attributes = open.attributes();
                        call.caller().requireData(Caller.READ, attributes);
                        long left = attributes.getSize() - request.getOffset();
                        int count = (int) Math.max(0, Math.min(wanted, left));
                        return read(open, request.getOffset(), count, call);
                    }
                });
    }

    private static ByteBuf read(OpenFile file, long offset, int count, Nfs3Call call)
            throws IOException {
        ByteBuf reply = call.allocator().directBuffer(READ_REPLY_HEADER + count + 3);
        try {
            FileChannel channel = file.channel();
            int got = 0;
            int n = 0;
            while (n >= 0 && got < count) {
                n = reply.setBytes(READ_REPLY_HEADER + got, channel, offset + got, count - got);
                got += Math.max(0, n);
            }
            UnixAttributes after = file.attributes();
            reply.writeInt(call.xid()).writeInt(1).writeZero(4 * 5).writeInt(1);
            after.writeTo(reply);
            boolean endOfFile = offset + got >= after.getSize();
            reply.writeInt(got).writeInt(endOfFile ? 1 : 0).writeInt(got);
            return reply.writerIndex(READ_REPLY_HEADER + got).writeZero(-got & 3);
        } catch (Throwable t) {
            reply.release();
            throw t;
        }
    }

    /** File data goes from the arguments, WRITE3args, to the file. */
    NFS3Response write(Nfs3Call call) throws IOException {
        ByteBuf in = call.arguments().duplicate();
        byte[] handleBytes = new byte[4 + in.getInt(in.readerIndex())];
        in.readBytes(handleBytes).skipBytes(-handleBytes.length & 3);
        long offset = in.readLong();
        long count = in.readUnsignedInt();
        int stable = in.readInt();
        long length = in.readUnsignedInt();
        if (stable < 0 || stable > WriteStableHow.FILE_SYNC.getValue()) {
            throw new IndexOutOfBoundsException("no stable_how: " + stable);
        }
        if (length > in.readableBytes() || count > length) {
            throw new IndexOutOfBoundsException("data shorter than its length");
        }
        if (offset < 0 || offset + count < 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_FBIG, "an offset of 2^63 or more");
        }
        FileHandle handle = new FileHandle();
        handle.deserialize(new XDR(handleBytes));
        ByteBuf data = in.slice(in.readerIndex(), (int) count);
        WriteStableHow how = WriteStableHow.fromValue(stable);
        return files.changing(handle, file -> write(file, offset, data, how, call.caller()));
    }

    private NFS3Response write(
            Located file, long offset, ByteBuf data, WriteStableHow stable, Caller caller)
            throws IOException {
        int count = data.readableBytes();
        try (OpenFile open = files.open(file, StandardOpenOption.WRITE)) {
            UnixAttributes before = open.attributes();
            caller.requireData(Caller.WRITE, before);
            int put = 0;
            while (put < count) {
                put += data.getBytes(put, open.channel(), offset + put, count - put);
            }
            AttributeChange.dropPrivileges(open, before, caller);
            if (stable != WriteStableHow.UNSTABLE) {
                open.channel().force(stable == WriteStableHow.FILE_SYNC);
            }
            WccData changed = new WccData(before.getWccAttr(), open.attributes());
            return new WRITE3Response(Nfs3Status.NFS3_OK, changed, count, stable, writeVerifier);
        }
    }

    NFS3Response commit(Nfs3Call call) throws IOException {
        files.requireWritable();
        return files.onFile(
                COMMIT3Request.deserialize(call.in()).getHandle(),
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
                        return new COMMIT3Response(
                                Nfs3Status.NFS3_OK,
                                new WccData(before.getWccAttr(), open.attributes()),
                                writeVerifier);
                    }
                });
    }
}
