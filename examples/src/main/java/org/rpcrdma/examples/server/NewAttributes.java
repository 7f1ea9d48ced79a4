// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.export.UnixAttributes;
import org.rpcrdma.examples.nfs.Nfs3Status;

/** New attributes of a file ({@code sattr3}, RFC 1813, 2.6); {@code null} for what stays as it is. */
record NewAttributes(
        Integer mode, Integer uid, Integer gid, Long size, FileTime accessed, FileTime modified) {

    private static final int PRIVILEGES = UnixAttributes.SET_UID | UnixAttributes.SET_GID;

    /** Later than clients can say. */
    private static final FileTime SERVER_TIME = FileTime.from(Instant.MAX);

    static NewAttributes read(XdrReader in) throws MalformedXdrException {
        return new NewAttributes(
                readInt(in),
                readInt(in),
                readInt(in),
                in.readBoolean() ? in.readLong() : null,
                readSetTime(in),
                readSetTime(in));
    }

    private static Integer readInt(XdrReader in) throws MalformedXdrException {
        return in.readBoolean() ? in.readInt() : null;
    }

    /** {@code time_how}. */
    private static FileTime readSetTime(XdrReader in) throws MalformedXdrException {
        int how = in.readInt();
        return switch (how) {
            case 0 -> null;
            case 1 -> SERVER_TIME;
            case 2 -> FileTime.from(readTime(in));
            default -> throw new MalformedXdrException("time_how " + how + " (expected: 0 to 2)");
        };
    }

    static Instant readTime(XdrReader in) throws MalformedXdrException {
        return Instant.ofEpochSecond(in.readUnsignedInt(), in.readUnsignedInt());
    }

    static NewAttributes ofSize(long size) {
        return new NewAttributes(null, null, null, size, null, null);
    }

    /** The verifier of a creation is kept where a client sets its own values next (RFC 1813, 3.3.8). */
    static NewAttributes ofVerifier(long verifier) {
        FileTime low = FileTime.from(verifier & Integer.MAX_VALUE, TimeUnit.SECONDS);
        FileTime high = FileTime.from(verifier >>> 32 & Integer.MAX_VALUE, TimeUnit.SECONDS);
        return new NewAttributes(null, null, null, null, low, high);
    }

    /** Whether a file has these times. */
    boolean areTimesOf(UnixAttributes file) {
        return accessed.toInstant().equals(file.accessed())
                && modified.toInstant().equals(file.modified());
    }

    /** These, with other bits in the mode if there is one. */
    NewAttributes withMode(int more) {
        Integer wanted = mode == null ? null : Integer.valueOf(mode | more);
        return new NewAttributes(wanted, uid, gid, size, accessed, modified);
    }

    /** @throws NfsException if the caller may not, or a file of this kind cannot */
    void check(UnixAttributes before, Caller caller) throws NfsException {
        if (size != null) {
            before.requireRegular();
            caller.requireData(Caller.WRITE, before);
            if (size < 0) {
                throw new NfsException(Nfs3Status.NFS3ERR_FBIG, "a size of 2^63 or more");
            }
        }
        if (uid != null || gid != null) {
            caller.requireOwnership(before, newUid(before), newGid(before));
        }
        if (hasTimes() || mode != null) {
            if (mode != null || isGiven(accessed) || isGiven(modified)) {
                caller.requireOwner(before);
            } else {
                caller.requireData(Caller.WRITE, before);
            }
            // Java opens a file for these; opening a pipe or a device does more than that.
            if (!before.isRegularFile() && !before.isDirectory() && !before.isSymbolicLink()) {
                throw new NfsException(Nfs3Status.NFS3ERR_NOTSUPP, "a special file");
            }
        }
    }

    /** Whether the client says which time, and not that it is the server's. */
    private static boolean isGiven(FileTime time) {
        return time != null && !time.equals(SERVER_TIME);
    }

    private static FileTime now(FileTime time) {
        return SERVER_TIME.equals(time) ? FileTime.from(Instant.now()) : time;
    }

    private boolean hasTimes() {
        return accessed != null || modified != null;
    }

    private int newUid(UnixAttributes before) {
        return uid != null ? uid : before.uid();
    }

    private int newGid(UnixAttributes before) {
        return gid != null ? gid : before.gid();
    }

    /** After {@link #check}; the file is open for writing if the size changes. */
    void applyTo(OpenFile file, UnixAttributes before, Caller caller) throws IOException {
        if (size != null) {
            dropPrivileges(file, before, caller);
            FileChannel channel = file.channel();
            if (channel.size() < size) {
                channel.write(ByteBuffer.allocate(1), size - 1);
            } else {
                channel.truncate(size);
            }
        }
        applyTo(file.path(), before, caller, file.options());
    }

    /** All but the size; after {@link #check}. */
    void applyTo(Path path, UnixAttributes before, Caller caller, LinkOption... options)
            throws IOException {
        // The owner before the mode: a change of owner takes the set-user bit away.
        if (newUid(before) != before.uid()) {
            Files.setAttribute(path, "unix:uid", newUid(before), options);
        }
        if (newGid(before) != before.gid()) {
            Files.setAttribute(path, "unix:gid", newGid(before), options);
        }
        if (hasTimes()) {
            Files.getFileAttributeView(path, BasicFileAttributeView.class, options)
                    .setTimes(now(modified), now(accessed), null);
        }
        // The mode last: Java has to be able to open the file for the times.
        if (mode != null && !before.isSymbolicLink()) {
            int allowed = caller.allowedMode(mode, newGid(before));
            try {
                Files.setAttribute(path, "unix:mode", allowed, options);
            } catch (AccessDeniedException e) {
                // Java opens what it must not follow, and this cannot be: nobody else changes its
                // name now.
                Files.setAttribute(path, "unix:mode", allowed);
            }
        }
    }

    /** As the system does before another user than root changes a file, so that a failure keeps nothing. */
    static void dropPrivileges(OpenFile file, UnixAttributes before, Caller caller)
            throws IOException {
        if (caller.isChecked() && (before.mode() & PRIVILEGES) != 0) {
            Files.setAttribute(
                    file.path(), "unix:mode", before.mode() & ~PRIVILEGES, file.options());
        }
    }
}
