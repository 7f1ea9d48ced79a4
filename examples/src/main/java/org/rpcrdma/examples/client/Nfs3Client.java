// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.examples.rpc.Calls;
import org.rpcrdma.examples.rpc.RpcClient;
import org.rpcrdma.examples.rpc.RpcException;
import org.rpcrdma.examples.rpc.Xdr;

/**
 * The NFSv3 procedures that copying files needs (RFC 1813, 3.3). They wait for their results, but READ and WRITE, of
 * which there can be several out.
 */
public final class Nfs3Client {

    public static final int PROGRAM = 100003;
    public static final int VERSION = 3;

    private static final int NULL = 0;
    private static final int GETATTR = 1;
    private static final int SETATTR = 2;
    private static final int LOOKUP = 3;
    private static final int READLINK = 5;
    private static final int READ = 6;
    private static final int WRITE = 7;
    private static final int CREATE = 8;
    private static final int READDIRPLUS = 17;
    private static final int FSINFO = 19;
    private static final int COMMIT = 21;

    /** Offset, count, stable_how and length of data, in bytes. */
    private static final int WRITE_WORDS = 8 + 4 + 4 + 4;

    private static final int WRITE_HEADROOM =
            RpcClient.HEADER_MAX + NfsHandle.WIRE_LENGTH_MAX + WRITE_WORDS;
    private static final int UNSTABLE = 0;

    private static final int NFS3_OK = 0;
    private static final int UNCHECKED = 0;
    private static final int NAME_MAX = 1024;
    private static final int PATH_MAX = 4096;
    private static final int DIRECTORY_BYTES = 32 << 10;
    private static final long TIMEOUT_MILLIS = 30_000;

    /** A found or made file. */
    public record Found(NfsHandle handle, NfsAttributes attributes) {}

    /**
     * @param attributes {@code null} if the server does not say
     * @param handle {@code null} if the server does not say
     */
    public record Entry(String name, long fileId, NfsAttributes attributes, NfsHandle handle) {}

    /** What is done with each entry of a directory. */
    public interface EntryConsumer {
        void accept(Entry entry) throws IOException;
    }

    /** The most bytes in one READ and in one WRITE. */
    public record Limits(int read, int write) {}

    /** @param data to be released by the receiver */
    public record ReadResult(ByteBuf data, boolean endOfFile) {}

    /** @param verifier another one after the server has started again and may have lost unstable data */
    public record WriteResult(int count, long verifier) {}

    private record Page(long cookie, long verifier, boolean last) {}

    private final RpcClient rpc;
    private final OpaqueAuth credential;
    private int directoryBytes = DIRECTORY_BYTES;

    public Nfs3Client(RpcClient rpc, OpaqueAuth credential) {
        this.rpc = rpc;
        this.credential = credential;
    }

    public RpcClient rpc() {
        return rpc;
    }

    /** Does nothing, as nobody (AUTH_NONE), to see whether the server answers. */
    public void ping(long timeoutMillis) throws IOException {
        Calls.await(
                rpc.call(
                        PROGRAM,
                        VERSION,
                        NULL,
                        OpaqueAuth.NONE,
                        Unpooled.EMPTY_BUFFER,
                        timeoutMillis),
                results -> null);
    }

    public NfsAttributes attributes(NfsHandle file, String name) throws IOException {
        return await(call(GETATTR, handle(file)), name, NfsAttributes::read);
    }

    public Found lookup(NfsHandle directory, String name) throws IOException {
        Found found =
                await(
                        call(LOOKUP, handleAndName(directory, name)),
                        name,
                        in -> new Found(NfsHandle.read(in), NfsAttributes.readOptional(in)));
        return found.attributes() != null
                ? found
                : new Found(found.handle(), attributes(found.handle(), name));
    }

    /** The target of a symbolic link. */
    public String readLink(NfsHandle link, String name) throws IOException {
        return await(
                call(READLINK, handle(link)),
                name,
                in -> {
                    NfsAttributes.readOptional(in);
                    return Xdr.readString(in, PATH_MAX);
                });
    }

    public Limits limits(NfsHandle root) throws IOException {
        return await(
                call(FSINFO, handle(root)),
                "FSINFO",
                in -> {
                    NfsAttributes.readOptional(in);
                    long read = in.readUnsignedInt();
                    in.skipBytes(4 + 4);
                    long write = in.readUnsignedInt();
                    return new Limits(
                            (int) Math.min(read, Integer.MAX_VALUE),
                            (int) Math.min(write, Integer.MAX_VALUE));
                });
    }

    /** Makes a regular file, or empties the one that there is. */
    public Found create(NfsHandle directory, String name, int mode) throws IOException {
        ByteBuf arguments = handleAndName(directory, name).writeInt(UNCHECKED);
        arguments
                .writeInt(1)
                .writeInt(mode)
                .writeInt(0)
                .writeInt(0)
                .writeInt(1)
                .writeLong(0)
                .writeInt(0)
                .writeInt(0);
        Found made =
                await(
                        call(CREATE, arguments),
                        name,
                        in ->
                                new Found(
                                        in.readInt() == 0 ? null : NfsHandle.read(in),
                                        NfsAttributes.readOptional(in)));
        return made.handle() != null && made.attributes() != null ? made : lookup(directory, name);
    }

    /** Sets the size of a file. */
    public void truncate(NfsHandle file, String name, long size) throws IOException {
        ByteBuf arguments =
                handle(file).writeInt(0).writeInt(0).writeInt(0).writeInt(1).writeLong(size);
        await(call(SETATTR, arguments.writeInt(0).writeInt(0).writeInt(0)), name, in -> null);
    }

    /** @return fails only for reasons of the connection; {@link #readResult} says whether the server has read */
    public Future<ByteBuf> read(NfsHandle file, long offset, int count) {
        return call(READ, handle(file).writeLong(offset).writeInt(count));
    }

    /** Waits for a READ. */
    public ReadResult readResult(Future<ByteBuf> read, String name, int asked) throws IOException {
        return await(
                read,
                name,
                in -> {
                    NfsAttributes.readOptional(in);
                    int count = in.readInt();
                    boolean endOfFile = in.readInt() != 0;
                    int length = Xdr.readLength(in, asked);
                    if (length != count) {
                        throw new IndexOutOfBoundsException(
                                "count " + count + ", but length " + length);
                    }
                    return new ReadResult(in.readRetainedSlice(length), endOfFile);
                });
    }

    /**
     * A buffer for the data of one WRITE: what {@link #write} puts around them has room there.
     *
     * @param length of the data in bytes
     */
    public ByteBuf writeBuffer(int length) {
        return ByteBufAllocator.DEFAULT
                .directBuffer(WRITE_HEADROOM + length + 3)
                .setIndex(WRITE_HEADROOM, WRITE_HEADROOM);
    }

    /**
     * Writes, to be committed later (UNSTABLE).
     *
     * @param data from {@link #writeBuffer}; belongs to the call from now on
     */
    public Future<ByteBuf> write(NfsHandle file, long offset, ByteBuf data) {
        int count = data.readableBytes();
        data.writeZero(-count & 3);
        int start = data.readerIndex() - file.wireLength() - WRITE_WORDS;
        ByteBuf front = data.slice(start, data.readerIndex() - start).writerIndex(0);
        file.writeTo(front);
        front.writeLong(offset).writeInt(count).writeInt(UNSTABLE).writeInt(count);
        return call(WRITE, data.readerIndex(start));
    }

    /** Waits for a WRITE. */
    public WriteResult writeResult(Future<ByteBuf> write, String name, int asked)
            throws IOException {
        return await(
                write,
                name,
                in -> {
                    NfsAttributes.skipWcc(in);
                    int count = in.readInt();
                    in.skipBytes(4);
                    if (count <= 0 || count > asked) {
                        throw new IndexOutOfBoundsException(
                                count + " bytes written (expected: 1 to " + asked + ")");
                    }
                    return new WriteResult(count, in.readLong());
                });
    }

    /**
     * Has the server keep for good what was written.
     *
     * @return the verifier, see {@link WriteResult}
     */
    public long commit(NfsHandle file, String name) throws IOException {
        return await(
                call(COMMIT, handle(file).writeLong(0).writeInt(0)),
                name,
                in -> {
                    NfsAttributes.skipWcc(in);
                    return in.readLong();
                });
    }

    /** How many bytes of a directory are asked for at a time; 32 KiB unless told otherwise. */
    public void directoryBytes(int bytes) {
        directoryBytes = bytes;
    }

    /**
     * Hands on all entries but {@code .} and {@code ..}, with attributes, in the server's order, page by page.
     *
     * @throws IOException if the server does not get to an end: it sends a cookie again that it has sent before
     */
    public void list(NfsHandle directory, String name, EntryConsumer consumer) throws IOException {
        Page page = new Page(0, 0, false);
        CookieWatch watch = new CookieWatch();
        while (!page.last()) {
            List<Entry> entries = new ArrayList<>();
            page = readPage(directory, name, page, entries);
            if (!page.last() && watch.isRepeated(page.cookie())) {
                throw new RpcException(
                        name
                                + ": the server repeats itself, the cookie 0x"
                                + Long.toHexString(page.cookie())
                                + " came again");
            }
            for (Entry entry : entries) {
                consumer.accept(entry.attributes() == null ? lookup(directory, entry) : entry);
            }
        }
    }

    private Entry lookup(NfsHandle directory, Entry entry) throws IOException {
        Found found = lookup(directory, entry.name());
        return new Entry(entry.name(), entry.fileId(), found.attributes(), found.handle());
    }

    private Page readPage(NfsHandle directory, String name, Page after, List<Entry> entries)
            throws IOException {
        ByteBuf arguments = handle(directory).writeLong(after.cookie()).writeLong(after.verifier());
        return await(
                call(READDIRPLUS, arguments.writeInt(directoryBytes).writeInt(directoryBytes)),
                name,
                in -> readEntries(in, after, entries));
    }

    private static Page readEntries(ByteBuf in, Page after, List<Entry> entries) {
        NfsAttributes.readOptional(in);
        long verifier = in.readLong();
        long cookie = after.cookie();
        boolean any = false;
        while (in.readInt() != 0) {
            any = true;
            long fileId = in.readLong();
            String name = Xdr.readString(in, NAME_MAX);
            cookie = in.readLong();
            NfsAttributes attributes = NfsAttributes.readOptional(in);
            NfsHandle handle = in.readInt() != 0 ? NfsHandle.read(in) : null;
            if (!name.equals(".") && !name.equals("..")) {
                entries.add(new Entry(name, fileId, attributes, handle));
            }
        }
        boolean last = in.readInt() != 0;
        if (!any && !last) {
            throw new IndexOutOfBoundsException("a page of a directory without an entry");
        }
        return new Page(cookie, verifier, last);
    }

    /**
     * Any procedure.
     *
     * @param arguments belong to the call from now on
     */
    public Future<ByteBuf> call(int procedure, ByteBuf arguments) {
        return rpc.call(PROGRAM, VERSION, procedure, credential, arguments, TIMEOUT_MILLIS);
    }

    private static <T> T await(Future<ByteBuf> call, String name, Calls.Decoder<T> decoder)
            throws IOException {
        return Calls.await(
                call,
                results -> {
                    int status = results.readInt();
                    if (status != NFS3_OK) {
                        throw new NfsStatusException(name, status);
                    }
                    return decoder.decode(results);
                });
    }

    private ByteBuf handle(NfsHandle file) {
        ByteBuf arguments = ByteBufAllocator.DEFAULT.buffer(128);
        file.writeTo(arguments);
        return arguments;
    }

    private ByteBuf handleAndName(NfsHandle directory, String name) {
        ByteBuf arguments = handle(directory);
        Xdr.writeString(arguments, name);
        return arguments;
    }
}
