// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileLocks;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.UnixAttributes;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** What finds, changes and removes names (RFC 1813, 3.3.3, 3.3.5 and 3.3.12 to 3.3.15). */
final class Nfs3Names {

    private final Nfs3Files files;
    private final Export export;

    Nfs3Names(Nfs3Files files) {
        this.files = files;
        export = files.export();
    }

    XdrEncodable lookup(Nfs3Call call) throws IOException {
        NfsHandle handle = call.readHandle();
        String name = call.readName();
        try (Located directory = export.locate(handle).requireDirectory()) {
            call.caller().require(Caller.EXECUTE, directory.attributes());
            if (name.equals(".")) {
                return found(export.handle(directory), directory.attributes(), directory);
            } else if (name.equals("..")) {
                try (Located parent = export.locateParent(directory)) {
                    return found(export.handle(parent), parent.attributes(), directory);
                }
            }
            UnixAttributes attributes = directory.existing(name);
            return found(export.handle(directory.key(), name, attributes), attributes, directory);
        }
    }

    private static XdrEncodable found(NfsHandle handle, UnixAttributes found, Located directory) {
        UnixAttributes above = directory.attributes();
        return out -> out.write(handle).write(found.optional()).write(above.optional());
    }

    XdrEncodable readlink(Nfs3Call call) throws IOException {
        return files.onFile(
                call.readHandle(),
                link -> {
                    UnixAttributes attributes = link.attributes();
                    if (!attributes.isSymbolicLink()) {
                        throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not a symbolic link");
                    }
                    String target = Files.readSymbolicLink(link.path()).toString();
                    Located.requireUtf8(target);
                    return out -> out.write(attributes.optional()).writeString(target);
                });
    }

    XdrEncodable remove(Nfs3Call call) throws IOException {
        return remove(call, /* wantsDirectory= */ false);
    }

    XdrEncodable rmdir(Nfs3Call call) throws IOException {
        return remove(call, /* wantsDirectory= */ true);
    }

    private XdrEncodable remove(Nfs3Call call, boolean wantsDirectory) throws IOException {
        NfsHandle handle = call.readHandle();
        String name = call.readName();
        return files.inDirectory(
                handle,
                directory -> {
                    Path path = directory.child(name);
                    UnixAttributes before = directory.currentAttributes();
                    call.caller().require(Caller.EXECUTE, before);
                    UnixAttributes victim = directory.existing(name);
                    if (victim.isDirectory() && !wantsDirectory) {
                        throw new NfsException(Nfs3Status.NFS3ERR_ISDIR, "a directory");
                    } else if (!victim.isDirectory() && wantsDirectory) {
                        throw new NfsException(Nfs3Status.NFS3ERR_NOTDIR, "not a directory");
                    }
                    call.caller().requireChange(before, victim);
                    Files.delete(path);
                    export.forget(victim, directory.key(), name);
                    return new WccData(before, directory.currentAttributes());
                });
    }

    XdrEncodable rename(Nfs3Call call) throws IOException {
        NfsHandle fromHandle = call.readHandle();
        String oldName = call.readName();
        NfsHandle toHandle = call.readHandle();
        String newName = call.readName();
        files.requireWritable();
        try (Located from = export.locate(fromHandle).requireDirectory();
                Located to = export.locate(toHandle).requireDirectory()) {
            FileLocks locks = files.locks();
            FileLocks.Work<XdrEncodable> work =
                    () -> rename(from, oldName, to, newName, call.caller());
            return locks.holding(from.key(), to.key(), () -> locks.changingNames(work));
        }
    }

    private XdrEncodable rename(
            Located from, String oldName, Located to, String newName, Caller caller)
            throws IOException {
        Path source = from.child(oldName);
        Path target = to.child(newName);
        UnixAttributes fromBefore = from.currentAttributes();
        UnixAttributes toBefore = to.currentAttributes();
        caller.require(Caller.EXECUTE, fromBefore);
        caller.require(Caller.EXECUTE, toBefore);
        UnixAttributes moved = from.existing(oldName);
        UnixAttributes replaced = to.childAttributes(newName);
        caller.requireChange(fromBefore, moved);
        caller.requireChange(toBefore, replaced);
        if (moved.isDirectory() && !from.key().equals(to.key())) {
            // Its entry for the directory above changes.
            caller.require(Caller.WRITE, moved);
        }
        Files.move(source, target, StandardCopyOption.ATOMIC_MOVE);
        // Two names of one file: the system leaves both (rename(2)), and so does the index.
        if (replaced == null || !export.key(replaced).equals(export.key(moved))) {
            export.forget(moved, from.key(), oldName);
            export.remember(moved, to.key(), newName);
            if (replaced != null) {
                export.forget(replaced, to.key(), newName);
            }
        }
        WccData fromChanged = new WccData(fromBefore, from.currentAttributes());
        WccData toChanged = new WccData(toBefore, to.currentAttributes());
        return out -> out.write(fromChanged).write(toChanged);
    }

    XdrEncodable link(Nfs3Call call) throws IOException {
        NfsHandle handle = call.readHandle();
        NfsHandle directoryHandle = call.readHandle();
        String name = call.readName();
        return files.inDirectory(
                directoryHandle,
                directory ->
                        files.onFile(handle, file -> link(file, directory, name, call.caller())));
    }

    private XdrEncodable link(Located file, Located directory, String name, Caller caller)
            throws IOException {
        if (file.attributes().isDirectory()) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "a directory");
        }
        Path path = directory.child(name);
        UnixAttributes before = directory.currentAttributes();
        caller.requireChange(before, null);
        UnixAttributes linked = file.currentAttributes();
        Files.createLink(path, file.path());
        export.remember(linked, directory.key(), name);
        UnixAttributes after = file.currentAttributes();
        WccData changed = new WccData(before, directory.currentAttributes());
        return out -> out.write(after.optional()).write(changed);
    }
}
