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
import org.apache.hadoop.nfs.NfsTime;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.SetAttr3;
import org.apache.hadoop.nfs.nfs3.request.SetAttr3.SetAttrField;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.export.UnixAttributes;

/**
 * New attributes of a file ({@code sattr3}, RFC 1813, 2.6).
 *
 * @param before what the file has now
 */
record AttributeChange(UnixAttributes before, SetAttr3 wanted, Caller caller) {

    private static final int PRIVILEGES = Nfs3Constant.MODE_S_ISUID | Nfs3Constant.MODE_S_ISGID;

    boolean has(SetAttrField field) {
        return wanted.getUpdateFields().contains(field);
    }

    /** @throws NfsException if the caller may not, or a file of this kind cannot */
    void check() throws NfsException {
        if (has(SetAttrField.SIZE)) {
            before.requireRegular();
            caller.requireData(Caller.WRITE, before);
            if (wanted.getSize() < 0) {
                throw new NfsException(Nfs3Status.NFS3ERR_FBIG, "a size of 2^63 or more");
            }
        }
        if (has(SetAttrField.UID) || has(SetAttrField.GID)) {
            caller.requireOwnership(before, uid(), gid());
        }
        boolean hasTimes = has(SetAttrField.ATIME) || has(SetAttrField.MTIME);
        if (hasTimes || has(SetAttrField.MODE)) {
            caller.requireOwner(before);
            // Java opens a file for these; opening a pipe or a device does more than that.
            if (!before.isRegularFile() && !before.isDirectory() && !before.isSymbolicLink()) {
                throw new NfsException(Nfs3Status.NFS3ERR_NOTSUPP, "a special file");
            }
        }
    }

    private int uid() {
        return has(SetAttrField.UID) ? wanted.getUid() : before.getUid();
    }

    private int gid() {
        return has(SetAttrField.GID) ? wanted.getGid() : before.getGid();
    }

    /** After {@link #check}; the file is open for writing if the size changes. */
    void applyTo(OpenFile file) throws IOException {
        if (has(SetAttrField.SIZE)) {
            FileChannel channel = file.channel();
            if (channel.size() < wanted.getSize()) {
                channel.write(ByteBuffer.allocate(1), wanted.getSize() - 1);
            } else {
                channel.truncate(wanted.getSize());
            }
            dropPrivileges(file, before, caller);
        }
        applyTo(file.path(), file.options());
    }

    /** All but the size; after {@link #check}. */
    void applyTo(Path path, LinkOption... options) throws IOException {
        // The owner before the mode: a change of owner takes the set-user bit away.
        if (uid() != before.getUid()) {
            Files.setAttribute(path, "unix:uid", uid(), options);
        }
        if (gid() != before.getGid()) {
            Files.setAttribute(path, "unix:gid", gid(), options);
        }
        if (has(SetAttrField.ATIME) || has(SetAttrField.MTIME)) {
            Files.getFileAttributeView(path, BasicFileAttributeView.class, options)
                    .setTimes(
                            has(SetAttrField.MTIME) ? fileTime(wanted.getMtime()) : null,
                            has(SetAttrField.ATIME) ? fileTime(wanted.getAtime()) : null,
                            null);
        }
        // The mode last: Java has to be able to open the file for the times.
        if (has(SetAttrField.MODE) && !before.isSymbolicLink()) {
            int mode = caller.allowedMode(wanted.getMode(), gid());
            try {
                Files.setAttribute(path, "unix:mode", mode, options);
            } catch (AccessDeniedException e) {
                // Java opens what it must not follow, and this cannot be: nobody else changes its
                // name now.
                Files.setAttribute(path, "unix:mode", mode);
            }
        }
    }

    /** As the system does when another user than root changes a file. */
    static void dropPrivileges(OpenFile file, UnixAttributes before, Caller caller)
            throws IOException {
        if (caller.isChecked() && (before.getMode() & PRIVILEGES) != 0) {
            int mode = before.getMode() & Nfs3Constant.MODE_ALL & ~PRIVILEGES;
            Files.setAttribute(file.path(), "unix:mode", mode, file.options());
        }
    }

    private static FileTime fileTime(NfsTime time) {
        return FileTime.from(
                Instant.ofEpochSecond(
                        Integer.toUnsignedLong(time.getSeconds()), time.getNseconds()));
    }
}
