// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.RpcClient;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.XdrDecoder;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.nfs.NfsHandle;

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
    private static final int REMOVE = 12;
    private static final int RENAME = 14;
    private static final int READDIRPLUS = 17;
    private static final int FSINFO = 19;
    private static final int COMMIT = 21;

    private static final int UNSTABLE = 0;

    private static final int NFS3_OK = 0;
    private static final int UNCHECKED = 0;
    private static final int NAME_MAX = 1024;
    private static final int PATH_MAX = 4096;
    private static final int DIRECTORY_BYTES = 32 << 10;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

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

    private final RpcConnection connection;
    private final RpcClient nfs;
    private int directoryBytes = DIRECTORY_BYTES;

    public Nfs3Client(RpcConnection connection, OpaqueAuth credential) {
        this.connection = connection;
        nfs = connection.client(PROGRAM, VERSION, TIMEOUT).withCredentials(() -> credential);
    }

    public RpcConnection connection() {
        return connection;
    }

    /** Does nothing, as nobody (AUTH_NONE), to see whether the server answers. */
    public void ping(Duration timeout) throws IOException {
        connection.await(
                connection
                        .client(PROGRAM, VERSION, timeout)
                        .call(NULL, XdrEncodable.VOID, XdrDecoder.VOID),
                timeout);
    }

    public NfsAttributes attributes(NfsHandle file, String name) throws IOException {
        return await(call(GETATTR, name, file, NfsAttributes::read));
    }

    public Found lookup(NfsHandle directory, String name) throws IOException {
        Found found =
                await(
                        call(
                                LOOKUP,
                                name,
                                out -> out.write(directory).writeString(name),
                                in ->
                                        new Found(
                                                NfsHandle.read(in),
                                                NfsAttributes.readOptional(in))));
        return found.attributes() != null
                ? found
                : new Found(found.handle(), attributes(found.handle(), name));
    }

    /** The target of a symbolic link. */
    public String readLink(NfsHandle link, String name) throws IOException {
        return await(
                call(
                        READLINK,
                        name,
                        link,
                        in -> {
                            NfsAttributes.readOptional(in);
                            return in.readString(PATH_MAX);
                        }));
    }

    public Limits limits(NfsHandle root) throws IOException {
        return await(
                call(
                        FSINFO,
                        "FSINFO",
                        root,
                        in -> {
                            NfsAttributes.readOptional(in);
                            long read = in.readUnsignedInt();
                            in.skip(4 + 4);
                            long write = in.readUnsignedInt();
                            return new Limits(
                                    (int) Math.min(read, Integer.MAX_VALUE),
                                    (int) Math.min(write, Integer.MAX_VALUE));
                        }));
    }

    /** Makes a regular file, or empties the one that there is. */
    public Found create(NfsHandle directory, String name, int mode) throws IOException {
        Found made =
                await(
                        call(
                                CREATE,
                                name,
                                out -> {
                                    out.write(directory).writeString(name).writeInt(UNCHECKED);
                                    out.writeBoolean(true).writeInt(mode);
                                    out.writeBoolean(false).writeBoolean(false);
                                    writeSizeOnly(out, 0);
                                },
                                in ->
                                        new Found(
                                                in.readBoolean() ? NfsHandle.read(in) : null,
                                                NfsAttributes.readOptional(in))));
        return made.handle() != null && made.attributes() != null ? made : lookup(directory, name);
    }

    /** Gives a file another name in its directory, in the place of the file that has it. */
    public void rename(NfsHandle directory, String from, String to) throws IOException {
        await(
                call(
                        RENAME,
                        to,
                        out -> {
                            out.write(directory).writeString(from);
                            out.write(directory).writeString(to);
                        },
                        XdrDecoder.VOID));
    }

    /** Removes a file. */
    public void remove(NfsHandle directory, String name) throws IOException {
        await(call(REMOVE, name, out -> out.write(directory).writeString(name), XdrDecoder.VOID));
    }

    /** Sets the size of a file. */
    public void truncate(NfsHandle file, String name, long size) throws IOException {
        await(
                call(
                        SETATTR,
                        name,
                        out -> {
                            out.write(file);
                            out.writeBoolean(false).writeBoolean(false).writeBoolean(false);
                            writeSizeOnly(out, size);
                            out.writeBoolean(false);
                        },
                        XdrDecoder.VOID));
    }

    /** The rest of {@code sattr3}: the size, and neither time. */
    private static void writeSizeOnly(XdrWriter out, long size) {
        out.writeBoolean(true).writeLong(size).writeInt(0).writeInt(0);
    }

    /** Reads; the call is to be waited for by {@link #await}. */
    public RpcFuture<ReadResult> read(NfsHandle file, String name, long offset, int asked) {
        return call(
                READ,
                name,
                out -> out.write(file).writeLong(offset).writeInt(asked),
                in -> {
                    NfsAttributes.readOptional(in);
                    int count = in.readInt();
                    boolean endOfFile = in.readBoolean();
                    ByteBuf data = in.readOpaqueSlice(asked);
                    if (data.readableBytes() != count) {
                        int length = data.readableBytes();
                        data.release();
                        throw new MalformedXdrException(
                                "count " + count + " (expected: the length, " + length + ")");
                    }
                    return new ReadResult(data, endOfFile);
                });
    }

    /**
     * Writes, to be committed later (UNSTABLE); the call is to be waited for by {@link #await}.
     *
     * @param data direct, sent from where they are; belong to the call from now on
     */
    public RpcFuture<WriteResult> write(NfsHandle file, String name, long offset, ByteBuf data) {
        int asked = data.readableBytes();
        return call(
                WRITE,
                name,
                out ->
                        out.write(file)
                                .writeLong(offset)
                                .writeInt(asked)
                                .writeInt(UNSTABLE)
                                .writeItem(data),
                in -> {
                    NfsAttributes.skipWcc(in);
                    int count = in.readInt();
                    in.skip(4);
                    if (count <= 0 || count > asked) {
                        throw new MalformedXdrException(
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
                call(
                        COMMIT,
                        name,
                        out -> out.write(file).writeLong(0).writeInt(0),
                        in -> {
                            NfsAttributes.skipWcc(in);
                            return in.readLong();
                        }));
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
                throw new IOException(
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
        return await(
                call(
                        READDIRPLUS,
                        name,
                        out -> {
                            out.write(directory);
                            out.writeLong(after.cookie()).writeLong(after.verifier());
                            out.writeInt(directoryBytes).writeInt(directoryBytes);
                        },
                        in -> readEntries(in, after, entries)));
    }

    private static Page readEntries(XdrReader in, Page after, List<Entry> entries)
            throws MalformedXdrException {
        NfsAttributes.readOptional(in);
        long verifier = in.readLong();
        long cookie = after.cookie();
        boolean any = false;
        while (in.readBoolean()) {
            any = true;
            long fileId = in.readLong();
            String name = in.readString(NAME_MAX);
            cookie = in.readLong();
            NfsAttributes attributes = NfsAttributes.readOptional(in);
            NfsHandle handle = in.readBoolean() ? NfsHandle.read(in) : null;
            if (!name.equals(".") && !name.equals("..")) {
                entries.add(new Entry(name, fileId, attributes, handle));
            }
        }
        boolean last = in.readBoolean();
        if (!any && !last) {
            throw new MalformedXdrException("a page of a directory without an entry");
        }
        return new Page(cookie, verifier, last);
    }

    /**
     * Any procedure, with its status.
     *
     * @param arguments belong to the call from now on
     */
    public RpcFuture<ByteBuf> call(int procedure, ByteBuf arguments) {
        return nfs.call(procedure, arguments);
    }

    /** A procedure, with the name of what its failure is about. */
    private <T> RpcFuture<T> call(
            int procedure, String name, XdrEncodable arguments, XdrDecoder<T> results) {
        return nfs.call(
                procedure,
                arguments,
                in -> {
                    int status = in.readInt();
                    if (status != NFS3_OK) {
                        throw new NfsStatusException(name, status);
                    }
                    return results.read(in);
                });
    }

    /** Waits for a call of this client. */
    public <T> T await(RpcFuture<T> call) throws IOException {
        return connection.await(call, TIMEOUT);
    }
}
