// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.nfs.NfsTime;
import org.apache.hadoop.nfs.nfs3.FileHandle;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant.WriteStableHow;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.ACCESS3Request;
import org.apache.hadoop.nfs.nfs3.request.COMMIT3Request;
import org.apache.hadoop.nfs.nfs3.request.CREATE3Request;
import org.apache.hadoop.nfs.nfs3.request.FSINFO3Request;
import org.apache.hadoop.nfs.nfs3.request.FSSTAT3Request;
import org.apache.hadoop.nfs.nfs3.request.GETATTR3Request;
import org.apache.hadoop.nfs.nfs3.request.LINK3Request;
import org.apache.hadoop.nfs.nfs3.request.LOOKUP3Request;
import org.apache.hadoop.nfs.nfs3.request.MKDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.PATHCONF3Request;
import org.apache.hadoop.nfs.nfs3.request.READ3Request;
import org.apache.hadoop.nfs.nfs3.request.READDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.READDIRPLUS3Request;
import org.apache.hadoop.nfs.nfs3.request.READLINK3Request;
import org.apache.hadoop.nfs.nfs3.request.REMOVE3Request;
import org.apache.hadoop.nfs.nfs3.request.RENAME3Request;
import org.apache.hadoop.nfs.nfs3.request.RMDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.SETATTR3Request;
import org.apache.hadoop.nfs.nfs3.request.SYMLINK3Request;
import org.apache.hadoop.nfs.nfs3.request.SetAttr3;
import org.apache.hadoop.nfs.nfs3.request.SetAttr3.SetAttrField;
import org.apache.hadoop.nfs.nfs3.response.ACCESS3Response;
import org.apache.hadoop.nfs.nfs3.response.COMMIT3Response;
import org.apache.hadoop.nfs.nfs3.response.CREATE3Response;
import org.apache.hadoop.nfs.nfs3.response.FSINFO3Response;
import org.apache.hadoop.nfs.nfs3.response.FSSTAT3Response;
import org.apache.hadoop.nfs.nfs3.response.GETATTR3Response;
import org.apache.hadoop.nfs.nfs3.response.LOOKUP3Response;
import org.apache.hadoop.nfs.nfs3.response.MKDIR3Response;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.nfs.nfs3.response.PATHCONF3Response;
import org.apache.hadoop.nfs.nfs3.response.READDIR3Response;
import org.apache.hadoop.nfs.nfs3.response.READDIR3Response.DirList3;
import org.apache.hadoop.nfs.nfs3.response.READDIR3Response.Entry3;
import org.apache.hadoop.nfs.nfs3.response.READDIRPLUS3Response;
import org.apache.hadoop.nfs.nfs3.response.READDIRPLUS3Response.DirListPlus3;
import org.apache.hadoop.nfs.nfs3.response.READDIRPLUS3Response.EntryPlus3;
import org.apache.hadoop.nfs.nfs3.response.READLINK3Response;
import org.apache.hadoop.nfs.nfs3.response.REMOVE3Response;
import org.apache.hadoop.nfs.nfs3.response.RENAME3Response;
import org.apache.hadoop.nfs.nfs3.response.RMDIR3Response;
import org.apache.hadoop.nfs.nfs3.response.SETATTR3Response;
import org.apache.hadoop.nfs.nfs3.response.SYMLINK3Response;
import org.apache.hadoop.nfs.nfs3.response.WRITE3Response;
import org.apache.hadoop.nfs.nfs3.response.WccAttr;
import org.apache.hadoop.nfs.nfs3.response.WccData;
import org.apache.hadoop.oncrpc.XDR;
import org.rpcrdma.examples.export.DirectoryReader;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileLocks;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.UnixAttributes;

/**
 * The NFSv3 procedures (RFC 1813, 3.3) on an {@link Export}, in the order of their numbers. They throw what
 * {@link org.rpcrdma.examples.export.FailureStatus} makes a status of. The server acts with the rights of its own user;
 * if that is root, new files are given to the caller and ACCESS answers for the caller. Thread-safe, blocking.
 */
final class Nfs3Service {

    /** The most bytes in one READ or WRITE. */
    static final int TRANSFER_MAX = 1 << 20;

    /** The most bytes in one READDIR, and what clients are told to ask for. */
    private static final int DIRECTORY_TRANSFER = 64 << 10;

    /** XID, message type, reply state, verifier (2), accept state, status, attributes follow. */
    private static final int READ_REPLY_START = 4 * 8;

    /** ... then attributes, count, end of file, length of data. */
    private static final int READ_REPLY_HEADER =
            READ_REPLY_START + UnixAttributes.WIRE_LENGTH + 3 * 4;

    /** Status, directory attributes, cookie verifier, end of list, end of directory. */
    private static final int READDIR_OVERHEAD = 4 + 4 + UnixAttributes.WIRE_LENGTH + 8 + 4 + 4;

    /** Entry follows, file id, length of name, cookie. */
    private static final int ENTRY_OVERHEAD = 4 + 8 + 4 + 8;

    /** ... and attributes and handle, each with a word in front, and the length of the handle. */
    private static final int ENTRY_PLUS_OVERHEAD =
            ENTRY_OVERHEAD + 4 + UnixAttributes.WIRE_LENGTH + 4 + 4 + 32;

    private static final int ROOT = 0;
    private static final int LINK_MAX = 32000;
    private static final int NAME_MAX = 255;
    private static final int PROPERTIES =
            Nfs3Constant.FSF3_LINK
                    | Nfs3Constant.FSF3_SYMLINK
                    | Nfs3Constant.FSF3_HOMOGENEOUS
                    | Nfs3Constant.FSF3_CANSETTIME;
    private static final int MODIFYING =
            Nfs3Constant.ACCESS3_MODIFY | Nfs3Constant.ACCESS3_EXTEND | Nfs3Constant.ACCESS3_DELETE;

    private final Export export;
    private final int serverUid;
    private final int directoryMax;
    private final FileLocks locks;
    private final DirectoryReader directoryReader = new DirectoryReader();

    /** Changes when the server starts, so that clients write again what they have not committed (RFC 1813, 4.8). */
    private final long writeVerifier = System.currentTimeMillis() << 20 ^ System.nanoTime();

    /**
     * @param locks of this export
     * @param serverUid the user whose rights the server has
     * @param directoryMax bytes that one READDIR or READDIRPLUS may have when the client asks for so many, if that is
     *     more than usual
     */
    Nfs3Service(Export export, FileLocks locks, int serverUid, int directoryMax) {
        this.locks = locks;
        this.export = export;
        this.serverUid = serverUid;
        this.directoryMax = directoryMax;
    }

    NFS3Response getattr(GETATTR3Request request) throws IOException {
        try (Located file = export.locate(request.getHandle())) {
            return new GETATTR3Response(Nfs3Status.NFS3_OK, file.attributes());
        }
    }

    NFS3Response setattr(SETATTR3Request request) throws IOException {
        requireWritable();
        return onFile(
                request.getHandle(),
                file ->
                        locks.holding(
                                file.key(),
                                () -> locks.withNamesKept(() -> setAttributes(file, request))));
    }

    private static NFS3Response setAttributes(Located file, SETATTR3Request request)
            throws IOException {
        UnixAttributes before = file.currentAttributes();
        if (request.isCheck() && !UnixAttributes.isSame(request.getCtime(), before.getCtime())) {
            throw new NfsException(Nfs3Status.NFS3ERR_NOT_SYNC, "the file has changed");
        }
        setAttributes(file.path(), before, request.getAttr());
        return new SETATTR3Response(
                Nfs3Status.NFS3_OK, wcc(before.getWccAttr(), file.currentAttributes()));
    }

    NFS3Response lookup(LOOKUP3Request request) throws IOException {
        try (Located directory = export.locate(request.getHandle()).requireDirectory()) {
            String name = request.getName();
            if (name.equals(".") || name.equals("..")) {
                try (Located found =
                        name.equals(".")
                                ? export.locate(request.getHandle())
                                : export.locateParent(directory)) {
                    return new LOOKUP3Response(
                            Nfs3Status.NFS3_OK,
                            export.handle(found),
                            found.attributes(),
                            directory.attributes());
                }
            }
            UnixAttributes attributes = directory.childAttributes(name);
            if (attributes == null) {
                return new LOOKUP3Response(
                        Nfs3Status.NFS3ERR_NOENT, null, null, directory.attributes());
            }
            return new LOOKUP3Response(
                    Nfs3Status.NFS3_OK,
                    export.handle(directory.key(), name, attributes),
                    attributes,
                    directory.attributes());
        }
    }

    NFS3Response access(ACCESS3Request request, int wanted, Caller caller) throws IOException {
        try (Located file = export.locate(request.getHandle())) {
            int rights =
                    serverUid == ROOT ? rightsOf(caller, file.attributes()) : rightsOfServer(file);
            int granted = 0;
            if ((rights & Nfs3Constant.ACCESS_MODE_READ) != 0) {
                granted |= Nfs3Constant.ACCESS3_READ;
            }
            if ((rights & Nfs3Constant.ACCESS_MODE_WRITE) != 0) {
                granted |= Nfs3Constant.ACCESS3_MODIFY | Nfs3Constant.ACCESS3_EXTEND;
                granted |= file.attributes().isDirectory() ? Nfs3Constant.ACCESS3_DELETE : 0;
            }
            if ((rights & Nfs3Constant.ACCESS_MODE_EXECUTE) != 0) {
                granted |=
                        file.attributes().isDirectory()
                                ? Nfs3Constant.ACCESS3_LOOKUP
                                : Nfs3Constant.ACCESS3_EXECUTE;
            }
            if (export.isReadOnly()) {
                granted &= ~MODIFYING;
            }
            return new ACCESS3Response(Nfs3Status.NFS3_OK, file.attributes(), granted & wanted);
        }
    }

    NFS3Response readlink(READLINK3Request request) throws IOException {
        return onFile(
                request.getHandle(),
                link -> {
                    if (!link.attributes().isSymbolicLink()) {
                        throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not a symbolic link");
                    }
                    byte[] target =
                            Files.readSymbolicLink(link.path())
                                    .toString()
                                    .getBytes(StandardCharsets.UTF_8);
                    return new READLINK3Response(Nfs3Status.NFS3_OK, link.attributes(), target);
                });
    }

    /** @return the whole RPC reply: file data goes into it without a copy between */
    ByteBuf read(READ3Request request, int xid, ByteBufAllocator allocator) throws IOException {
        long offset = request.getOffset();
        if (offset < 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "an offset of 2^63 or more");
        }
        int wanted = (int) Math.min(Integer.toUnsignedLong(request.getCount()), TRANSFER_MAX);
        return onFile(
                request.getHandle(),
                file -> {
                    requireRegular(file);
                    int count =
                            (int)
                                    Math.max(
                                            0,
                                            Math.min(wanted, file.attributes().getSize() - offset));
                    ByteBuf reply = allocator.directBuffer(READ_REPLY_HEADER + count + 3);
                    try (FileChannel channel = open(file, StandardOpenOption.READ)) {
                        int got = 0;
                        while (got < count) {
                            int n =
                                    reply.setBytes(
                                            READ_REPLY_HEADER + got,
                                            channel,
                                            offset + got,
                                            count - got);
                            if (n < 0) {
                                break;
                            }
                            got += n;
                        }
                        UnixAttributes after = file.currentAttributes();
                        reply.writeInt(xid).writeInt(1).writeZero(4 * 5).writeInt(1);
                        after.writeTo(reply);
                        boolean endOfFile = offset + got >= after.getSize();
                        reply.writeInt(got).writeInt(endOfFile ? 1 : 0).writeInt(got);
                        reply.writerIndex(READ_REPLY_HEADER + got).writeZero(-got & 3);
                        return reply;
                    } catch (Throwable t) {
                        reply.release();
                        throw t;
                    }
                });
    }

    /** @param arguments WRITE3args; file data goes from there to the file */
    NFS3Response write(ByteBuf arguments) throws IOException {
        requireWritable();
        ByteBuf in = arguments.duplicate();
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
        return onFile(
                handle,
                file ->
                        locks.holding(
                                file.key(),
                                () -> write(file, offset, data, WriteStableHow.fromValue(stable))));
    }

    private NFS3Response write(Located file, long offset, ByteBuf data, WriteStableHow stable)
            throws IOException {
        requireRegular(file);
        int count = data.readableBytes();
        try (FileChannel channel = open(file, StandardOpenOption.WRITE)) {
            WccAttr before = file.currentAttributes().getWccAttr();
            int put = 0;
            while (put < count) {
                put += data.getBytes(put, channel, offset + put, count - put);
            }
            if (stable != WriteStableHow.UNSTABLE) {
                channel.force(stable == WriteStableHow.FILE_SYNC);
            }
            return new WRITE3Response(
                    Nfs3Status.NFS3_OK,
                    wcc(before, file.currentAttributes()),
                    count,
                    stable,
                    writeVerifier);
        }
    }

    NFS3Response create(CREATE3Request request, Caller caller) throws IOException {
        return inDirectory(
                request.getHandle(),
                request.getName(),
                (directory, path) -> {
                    WccAttr before = directory.currentAttributes().getWccAttr();
                    boolean exclusive = request.getMode() == Nfs3Constant.CREATE_EXCLUSIVE;
                    // The verifier is kept where a client sets its own values next (RFC 1813,
                    // 3.3.8).
                    SetAttr3 wanted =
                            exclusive
                                    ? verifierAttributes(request.getVerf())
                                    : request.getObjAttr();
                    try {
                        FileChannel.open(
                                        path,
                                        StandardOpenOption.CREATE_NEW,
                                        StandardOpenOption.WRITE,
                                        LinkOption.NOFOLLOW_LINKS)
                                .close();
                        giveTo(caller, path, wanted);
                        setAttributes(path, directory.childAttributes(request.getName()), wanted);
                    } catch (FileAlreadyExistsException e) {
                        UnixAttributes existing = directory.childAttributes(request.getName());
                        if (existing == null || !existing.isRegularFile()) {
                            throw e;
                        }
                        switch (request.getMode()) {
                            case Nfs3Constant.CREATE_UNCHECKED ->
                                    setAttributes(path, existing, sizeOf(wanted));
                            case Nfs3Constant.CREATE_EXCLUSIVE -> {
                                if (!hasVerifier(existing, wanted)) {
                                    throw e;
                                }
                            }
                            default -> throw e;
                        }
                    }
                    UnixAttributes created = existing(directory, request.getName());
                    return new CREATE3Response(
                            Nfs3Status.NFS3_OK,
                            export.handle(directory.key(), request.getName(), created),
                            created,
                            wcc(before, directory.currentAttributes()));
                });
    }

    NFS3Response mkdir(MKDIR3Request request, Caller caller) throws IOException {
        return inDirectory(
                request.getHandle(),
                request.getName(),
                (directory, path) -> {
                    WccAttr before = directory.currentAttributes().getWccAttr();
                    Files.createDirectory(path);
                    giveTo(caller, path, request.getObjAttr());
                    setAttributes(
                            path, existing(directory, request.getName()), request.getObjAttr());
                    UnixAttributes created = existing(directory, request.getName());
                    return new MKDIR3Response(
                            Nfs3Status.NFS3_OK,
                            export.handle(directory.key(), request.getName(), created),
                            created,
                            wcc(before, directory.currentAttributes()));
                });
    }

    /** Java leaves out what does not matter in a path: of {@code a//b/} it makes {@code a/b}. */
    NFS3Response symlink(SYMLINK3Request request, Caller caller) throws IOException {
        if (request.getSymData().isEmpty()) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "a symbolic link to nothing");
        }
        return inDirectory(
                request.getHandle(),
                request.getName(),
                (directory, path) -> {
                    WccAttr before = directory.currentAttributes().getWccAttr();
                    Files.createSymbolicLink(path, Path.of(request.getSymData()));
                    giveTo(caller, path, request.getSymAttr());
                    UnixAttributes created = existing(directory, request.getName());
                    return new SYMLINK3Response(
                            Nfs3Status.NFS3_OK,
                            export.handle(directory.key(), request.getName(), created),
                            created,
                            wcc(before, directory.currentAttributes()));
                });
    }

    NFS3Response remove(REMOVE3Request request) throws IOException {
        return inDirectory(
                request.getHandle(),
                request.getName(),
                (directory, path) -> {
                    UnixAttributes victim = existing(directory, request.getName());
                    if (victim.isDirectory()) {
                        throw new NfsException(Nfs3Status.NFS3ERR_ISDIR, "a directory");
                    }
                    WccAttr before = directory.currentAttributes().getWccAttr();
                    Files.delete(path);
                    export.forget(victim, directory.key(), request.getName());
                    return new REMOVE3Response(
                            Nfs3Status.NFS3_OK, wcc(before, directory.currentAttributes()));
                });
    }

    NFS3Response rmdir(RMDIR3Request request) throws IOException {
        return inDirectory(
                request.getHandle(),
                request.getName(),
                (directory, path) -> {
                    UnixAttributes victim = existing(directory, request.getName());
                    if (!victim.isDirectory()) {
                        throw new NfsException(Nfs3Status.NFS3ERR_NOTDIR, "not a directory");
                    }
                    WccAttr before = directory.currentAttributes().getWccAttr();
                    Files.delete(path);
                    export.forget(victim, directory.key(), request.getName());
                    return new RMDIR3Response(
                            Nfs3Status.NFS3_OK, wcc(before, directory.currentAttributes()));
                });
    }

    NFS3Response rename(RENAME3Request request) throws IOException {
        requireWritable();
        String oldName = request.getFromName();
        String newName = request.getToName();
        try (Located from = export.locate(request.getFromDirHandle());
                Located to = export.locate(request.getToDirHandle())) {
            Path source = from.child(oldName);
            Path target = to.child(newName);
            return locks.holding(
                    from.key(),
                    to.key(),
                    () ->
                            locks.changingNames(
                                    () -> rename(from, source, oldName, to, target, newName)));
        }
    }

    private NFS3Response rename(
            Located from, Path source, String oldName, Located to, Path target, String newName)
            throws IOException {
        UnixAttributes moved = existing(from, oldName);
        UnixAttributes replaced = to.childAttributes(newName);
        WccAttr fromBefore = from.currentAttributes().getWccAttr();
        WccAttr toBefore = to.currentAttributes().getWccAttr();
        // Two names of one file: the system leaves both (rename(2)), and so does the index.
        boolean sameFile = replaced != null && export.key(replaced).equals(export.key(moved));
        export.remember(moved, to.key(), newName);
        try {
            Files.move(source, target, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException | RuntimeException e) {
            if (!sameFile) {
                export.forget(moved, to.key(), newName);
            }
            throw e;
        }
        if (!sameFile) {
            export.forget(moved, from.key(), oldName);
            if (replaced != null) {
                export.forget(replaced, to.key(), newName);
            }
        }
        return new RENAME3Response(
                Nfs3Status.NFS3_OK,
                wcc(fromBefore, from.currentAttributes()),
                wcc(toBefore, to.currentAttributes()));
    }

    NFS3Response link(LINK3Request request) throws IOException {
        return inDirectory(
                request.getFromDirHandle(),
                request.getFromName(),
                (directory, path) ->
                        onFile(
                                request.getHandle(),
                                file -> {
                                    if (file.attributes().isDirectory()) {
                                        throw new NfsException(
                                                Nfs3Status.NFS3ERR_INVAL, "a directory");
                                    }
                                    WccAttr before = directory.currentAttributes().getWccAttr();
                                    UnixAttributes linked = file.currentAttributes();
                                    Files.createLink(path, file.path());
                                    export.remember(linked, directory.key(), request.getFromName());
                                    return new LinkResponse(
                                            file.currentAttributes(),
                                            wcc(before, directory.currentAttributes()));
                                }));
    }

    NFS3Response readdir(READDIR3Request request) throws IOException {
        try (Located directory = export.locate(request.getHandle()).requireDirectory()) {
            List<Entry3> entries = new ArrayList<>();
            DirectoryPage page =
                    new DirectoryPage(
                            READDIR_OVERHEAD,
                            ENTRY_OVERHEAD,
                            request.getCount(),
                            Math.max(DIRECTORY_TRANSFER, directoryMax));
            boolean complete =
                    eachEntry(
                            directory,
                            request.getCookie(),
                            page,
                            (name, cookie, attributes, handle) ->
                                    entries.add(new Entry3(attributes.getFileId(), name, cookie)));
            return new READDIR3Response(
                    Nfs3Status.NFS3_OK,
                    directory.currentAttributes(),
                    0,
                    new DirList3(entries.toArray(new Entry3[0]), complete));
        }
    }

    NFS3Response readdirplus(READDIRPLUS3Request request) throws IOException {
        try (Located directory = export.locate(request.getHandle()).requireDirectory()) {
            List<EntryPlus3> entries = new ArrayList<>();
            DirectoryPage page =
                    new DirectoryPage(
                            READDIR_OVERHEAD,
                            ENTRY_PLUS_OVERHEAD,
                            Integer.toUnsignedLong(request.getMaxCount()),
                            Math.max(TRANSFER_MAX, directoryMax));
            boolean complete =
                    eachEntry(
                            directory,
                            request.getCookie(),
                            page,
                            (name, cookie, attributes, handle) ->
                                    entries.add(
                                            new EntryPlus3(
                                                    attributes.getFileId(),
                                                    name,
                                                    cookie,
                                                    attributes,
                                                    handle)));
            return new READDIRPLUS3Response(
                    Nfs3Status.NFS3_OK,
                    directory.currentAttributes(),
                    0,
                    new DirListPlus3(entries.toArray(new EntryPlus3[0]), complete));
        }
    }

    NFS3Response fsstat(FSSTAT3Request request) throws IOException {
        try (Located file = export.locate(request.getHandle())) {
            FileStore store = Files.getFileStore(file.path());
            // Java does not know how many files there may be.
            long files = Integer.MAX_VALUE;
            return new FSSTAT3Response(
                    Nfs3Status.NFS3_OK,
                    file.attributes(),
                    store.getTotalSpace(),
                    store.getUnallocatedSpace(),
                    store.getUsableSpace(),
                    files,
                    files,
                    files,
                    0);
        }
    }

    NFS3Response fsinfo(FSINFO3Request request) throws IOException {
        try (Located file = export.locate(request.getHandle())) {
            return new FSINFO3Response(
                    Nfs3Status.NFS3_OK,
                    file.attributes(),
                    TRANSFER_MAX,
                    TRANSFER_MAX,
                    4096,
                    TRANSFER_MAX,
                    TRANSFER_MAX,
                    4096,
                    DIRECTORY_TRANSFER,
                    Long.MAX_VALUE,
                    new NfsTime(0, 1),
                    PROPERTIES);
        }
    }

    NFS3Response pathconf(PATHCONF3Request request) throws IOException {
        try (Located file = export.locate(request.getHandle())) {
            return new PATHCONF3Response(
                    Nfs3Status.NFS3_OK,
                    file.attributes(),
                    LINK_MAX,
                    NAME_MAX,
                    true,
                    true,
                    false,
                    true);
        }
    }

    NFS3Response commit(COMMIT3Request request) throws IOException {
        return onFile(
                request.getHandle(),
                file -> {
                    requireRegular(file);
                    requireWritable();
                    UnixAttributes before = file.attributes();
                    try (FileChannel channel = open(file, StandardOpenOption.WRITE)) {
                        channel.force(true);
                    }
                    return new COMMIT3Response(
                            Nfs3Status.NFS3_OK,
                            wcc(before.getWccAttr(), file.currentAttributes()),
                            writeVerifier);
                });
    }

    // ---- what several procedures do

    private interface FileOperation<T> {
        T run(Located file) throws IOException;
    }

    private interface DirectoryOperation {
        NFS3Response run(Located directory, Path path) throws IOException;
    }

    private interface EntryConsumer {
        void accept(String name, long cookie, UnixAttributes attributes, FileHandle handle);
    }

    /** Again, if the file is renamed between being found and being used. */
    private <T> T onFile(FileHandle handle, FileOperation<T> operation) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try (Located file = export.locate(handle)) {
                return operation.run(file);
            } catch (NoSuchFileException e) {
                if (attempt == 3) {
                    throw new NfsException(
                            Nfs3Status.NFS3ERR_STALE, "the file is not where it was found");
                }
            }
        }
    }

    /** Changes one name of a directory, with nobody else changing the directory. */
    private NFS3Response inDirectory(FileHandle handle, String name, DirectoryOperation operation)
            throws IOException {
        requireWritable();
        try (Located directory = export.locate(handle)) {
            Path path = directory.child(name);
            return locks.holding(
                    directory.key(),
                    () -> locks.changingNames(() -> operation.run(directory, path)));
        }
    }

    private void requireWritable() throws NfsException {
        if (export.isReadOnly()) {
            throw new NfsException(Nfs3Status.NFS3ERR_ROFS, "the export is read-only");
        }
    }

    private static void requireRegular(Located file) throws NfsException {
        if (file.attributes().isDirectory()) {
            throw new NfsException(Nfs3Status.NFS3ERR_ISDIR, "a directory");
        }
        if (!file.attributes().isRegularFile()) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not a regular file");
        }
    }

    private static UnixAttributes existing(Located directory, String name) throws IOException {
        UnixAttributes attributes = directory.childAttributes(name);
        if (attributes == null) {
            throw new NoSuchFileException(name);
        }
        return attributes;
    }

    private static WccData wcc(WccAttr before, UnixAttributes after) {
        return new WccData(before, after);
    }

    /**
     * Opens a regular file. The owner always may, whatever the mode: a client checks the mode when a program opens the
     * file, and the program may go on after it has taken its own rights away.
     */
    private FileChannel open(Located file, OpenOption how) throws IOException {
        return locks.withNamesKept(() -> open(file, file.currentAttributes(), how));
    }

    private FileChannel open(Located file, UnixAttributes attributes, OpenOption how)
            throws IOException {
        Set<OpenOption> options = Set.of(how, LinkOption.NOFOLLOW_LINKS);
        try {
            return FileChannel.open(file.path(), options);
        } catch (AccessDeniedException e) {
            if (attributes.getUid() != serverUid) {
                throw e;
            }
            int ownerBits = how == StandardOpenOption.READ ? 0400 : 0600;
            setMode(file.path(), attributes.getMode() | ownerBits);
            try {
                return FileChannel.open(file.path(), options);
            } finally {
                setMode(file.path(), attributes.getMode());
            }
        }
    }

    /** @param before what the file has now */
    private static void setAttributes(Path path, UnixAttributes before, SetAttr3 wanted)
            throws IOException {
        EnumSet<SetAttrField> fields = wanted.getUpdateFields();
        if (fields.contains(SetAttrField.SIZE)) {
            setSize(path, before, wanted.getSize());
        }
        // The owner before the mode: a change of owner takes the set-user bit away.
        if (fields.contains(SetAttrField.UID) && wanted.getUid() != before.getUid()) {
            Files.setAttribute(path, "unix:uid", wanted.getUid(), LinkOption.NOFOLLOW_LINKS);
        }
        if (fields.contains(SetAttrField.GID) && wanted.getGid() != before.getGid()) {
            Files.setAttribute(path, "unix:gid", wanted.getGid(), LinkOption.NOFOLLOW_LINKS);
        }
        if (fields.contains(SetAttrField.ATIME) || fields.contains(SetAttrField.MTIME)) {
            if (!before.isSymbolicLink()) {
                requirePlain(before);
            }
            Files.getFileAttributeView(
                            path, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .setTimes(
                            fields.contains(SetAttrField.MTIME)
                                    ? fileTime(wanted.getMtime())
                                    : null,
                            fields.contains(SetAttrField.ATIME)
                                    ? fileTime(wanted.getAtime())
                                    : null,
                            null);
        }
        // The mode last: Java has to be able to open the file for all this.
        if (fields.contains(SetAttrField.MODE) && !before.isSymbolicLink()) {
            requirePlain(before);
            setMode(path, wanted.getMode());
        }
    }

    /**
     * Java opens a file to change its mode or times. Opening a pipe or a device does more than that; and where the
     * owner has no right to read, only root can.
     */
    private static void requirePlain(UnixAttributes attributes) throws NfsException {
        if (!attributes.isRegularFile() && !attributes.isDirectory()) {
            throw new NfsException(Nfs3Status.NFS3ERR_NOTSUPP, "a special file");
        }
    }

    private static void setMode(Path path, int mode) throws IOException {
        Files.setAttribute(
                path, "unix:mode", mode & Nfs3Constant.MODE_ALL, LinkOption.NOFOLLOW_LINKS);
    }

    private static void setSize(Path path, UnixAttributes before, long size) throws IOException {
        if (before.isDirectory()) {
            throw new NfsException(Nfs3Status.NFS3ERR_ISDIR, "a directory");
        }
        if (!before.isRegularFile()) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not a regular file");
        }
        if (size < 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_FBIG, "a size of 2^63 or more");
        }
        try (FileChannel channel =
                FileChannel.open(path, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            if (channel.size() < size) {
                channel.write(ByteBuffer.allocate(1), size - 1);
            } else {
                channel.truncate(size);
            }
        }
    }

    private static FileTime fileTime(NfsTime time) {
        return FileTime.from(
                Instant.ofEpochSecond(
                        Integer.toUnsignedLong(time.getSeconds()), time.getNseconds()));
    }

    private static SetAttr3 sizeOf(SetAttr3 wanted) {
        if (!wanted.getUpdateFields().contains(SetAttrField.SIZE)) {
            return new SetAttr3();
        }
        return new SetAttr3(0, 0, 0, wanted.getSize(), null, null, EnumSet.of(SetAttrField.SIZE));
    }

    /** Hadoop's constructor forgets times, so they take the way that they take from a client. */
    private static SetAttr3 verifierAttributes(long verifier) {
        XDR encoded = new XDR();
        encoded.writeFixedOpaque(new byte[4 * 4]);
        encoded.writeInt(SetAttr3.TIME_SET_TO_CLIENT_TIME);
        new NfsTime((int) verifier & Integer.MAX_VALUE, 0).serialize(encoded);
        encoded.writeInt(SetAttr3.TIME_SET_TO_CLIENT_TIME);
        new NfsTime((int) (verifier >>> 32) & Integer.MAX_VALUE, 0).serialize(encoded);
        SetAttr3 attributes = new SetAttr3();
        attributes.deserialize(encoded.asReadOnlyWrap());
        return attributes;
    }

    private static boolean hasVerifier(UnixAttributes file, SetAttr3 verifier) {
        return UnixAttributes.isSame(file.getAtime(), verifier.getAtime())
                && UnixAttributes.isSame(file.getMtime(), verifier.getMtime());
    }

    /** A server of root makes files for other users. */
    private void giveTo(Caller caller, Path path, SetAttr3 wanted) throws IOException {
        if (serverUid == ROOT && caller.uid() != ROOT) {
            if (!wanted.getUpdateFields().contains(SetAttrField.UID)) {
                Files.setAttribute(path, "unix:uid", caller.uid(), LinkOption.NOFOLLOW_LINKS);
            }
            if (!wanted.getUpdateFields().contains(SetAttrField.GID)) {
                Files.setAttribute(path, "unix:gid", caller.gid(), LinkOption.NOFOLLOW_LINKS);
            }
        }
    }

    /** Read, write and execute bits of the mode. */
    private static int rightsOf(Caller caller, UnixAttributes file) {
        int mode = file.getMode();
        if (caller.uid() == ROOT) {
            boolean canExecute = file.isDirectory() || (mode & 0111) != 0;
            return canExecute ? 7 : Nfs3Constant.ACCESS_MODE_READ | Nfs3Constant.ACCESS_MODE_WRITE;
        } else if (caller.uid() == file.getUid()) {
            return mode >>> 6 & 7;
        } else if (caller.isInGroup(file.getGid())) {
            return mode >>> 3 & 7;
        }
        return mode & 7;
    }

    private static int rightsOfServer(Located file) {
        if (file.attributes().isSymbolicLink()) {
            return 7;
        }
        return (Files.isReadable(file.path()) ? Nfs3Constant.ACCESS_MODE_READ : 0)
                | (Files.isWritable(file.path()) ? Nfs3Constant.ACCESS_MODE_WRITE : 0)
                | (Files.isExecutable(file.path()) ? Nfs3Constant.ACCESS_MODE_EXECUTE : 0);
    }

    /**
     * Passes entries on until the page is full.
     *
     * @return whether these were the last
     */
    private boolean eachEntry(
            Located directory, long cookie, DirectoryPage page, EntryConsumer consumer)
            throws IOException {
        if (cookie < DirectoryReader.COOKIE_SELF) {
            if (!page.add(".")) {
                return false;
            }
            consumer.accept(
                    ".",
                    DirectoryReader.COOKIE_SELF,
                    directory.attributes(),
                    export.handle(directory));
        }
        if (cookie < DirectoryReader.COOKIE_PARENT) {
            if (!page.add("..")) {
                return false;
            }
            try (Located parent = export.locateParent(directory)) {
                consumer.accept(
                        "..",
                        DirectoryReader.COOKIE_PARENT,
                        parent.attributes(),
                        export.handle(parent));
            }
        }
        for (DirectoryReader.Entry entry : directoryReader.entriesAfter(directory, cookie)) {
            UnixAttributes attributes;
            try {
                attributes = directory.childAttributes(entry.name());
            } catch (FileSystemException | NfsException e) {
                continue;
            }
            if (attributes != null) {
                if (!page.add(entry.name())) {
                    return false;
                }
                consumer.accept(
                        entry.name(),
                        entry.cookie(),
                        attributes,
                        export.handle(directory.key(), entry.name(), attributes));
            }
        }
        return true;
    }
}
