// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.LINK3Request;
import org.apache.hadoop.nfs.nfs3.request.LOOKUP3Request;
import org.apache.hadoop.nfs.nfs3.request.READLINK3Request;
import org.apache.hadoop.nfs.nfs3.request.REMOVE3Request;
import org.apache.hadoop.nfs.nfs3.request.RENAME3Request;
import org.apache.hadoop.nfs.nfs3.request.RMDIR3Request;
import org.apache.hadoop.nfs.nfs3.response.LOOKUP3Response;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.nfs.nfs3.response.READLINK3Response;
import org.apache.hadoop.nfs.nfs3.response.REMOVE3Response;
import org.apache.hadoop.nfs.nfs3.response.RENAME3Response;
import org.apache.hadoop.nfs.nfs3.response.RMDIR3Response;
import org.apache.hadoop.nfs.nfs3.response.WccAttr;
import org.apache.hadoop.nfs.nfs3.response.WccData;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileLocks;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.UnixAttributes;

/** What finds, changes and removes names (RFC 1813, 3.3.3, 3.3.5 and 3.3.12 to 3.3.15). */
final class Nfs3Names {

    private final Nfs3Files files;
    private final Export export;

    Nfs3Names(Nfs3Files files) {
        this.files = files;
        export = files.export();
    }

    NFS3Response lookup(Nfs3Call call) throws IOException {
        LOOKUP3Request request = LOOKUP3Request.deserialize(call.in());
        try (Located directory = export.locate(request.getHandle()).requireDirectory()) {
            call.caller().require(Caller.EXECUTE, directory.attributes());
            String name = request.getName();
            if (name.equals(".")) {
                return found(directory, directory);
            } else if (name.equals("..")) {
                try (Located parent = export.locateParent(directory)) {
                    return found(parent, directory);
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

    private NFS3Response found(Located found, Located directory) {
        return new LOOKUP3Response(
                Nfs3Status.NFS3_OK,
                export.handle(found),
                found.attributes(),
                directory.attributes());
    }

    NFS3Response readlink(Nfs3Call call) throws IOException {
        return files.onFile(
                READLINK3Request.deserialize(call.in()).getHandle(),
                link -> {
                    if (!link.attributes().isSymbolicLink()) {
                        throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not a symbolic link");
                    }
                    String target = Files.readSymbolicLink(link.path()).toString();
                    return new READLINK3Response(
                            Nfs3Status.NFS3_OK,
                            link.attributes(),
                            Located.requireUtf8(target).getBytes(StandardCharsets.UTF_8));
                });
    }

    NFS3Response remove(Nfs3Call call) throws IOException {
        REMOVE3Request request = REMOVE3Request.deserialize(call.in());
        return files.inDirectory(
                request.getHandle(),
                directory ->
                        new REMOVE3Response(
                                Nfs3Status.NFS3_OK,
                                remove(directory, request.getName(), false, call.caller())));
    }

    NFS3Response rmdir(Nfs3Call call) throws IOException {
        RMDIR3Request request = RMDIR3Request.deserialize(call.in());
        return files.inDirectory(
                request.getHandle(),
                directory ->
                        new RMDIR3Response(
                                Nfs3Status.NFS3_OK,
                                remove(directory, request.getName(), true, call.caller())));
    }

    private WccData remove(Located directory, String name, boolean wantsDirectory, Caller caller)
            throws IOException {
        Path path = directory.child(name);
        UnixAttributes before = directory.currentAttributes();
        caller.require(Caller.EXECUTE, before);
        UnixAttributes victim = existing(directory, name);
        if (victim.isDirectory() && !wantsDirectory) {
            throw new NfsException(Nfs3Status.NFS3ERR_ISDIR, "a directory");
        } else if (!victim.isDirectory() && wantsDirectory) {
            throw new NfsException(Nfs3Status.NFS3ERR_NOTDIR, "not a directory");
        }
        caller.requireChange(before, victim);
        Files.delete(path);
        export.forget(victim, directory.key(), name);
        return changed(before.getWccAttr(), directory);
    }

    NFS3Response rename(Nfs3Call call) throws IOException {
        RENAME3Request request = RENAME3Request.deserialize(call.in());
        files.requireWritable();
        try (Located from = export.locate(request.getFromDirHandle()).requireDirectory();
                Located to = export.locate(request.getToDirHandle()).requireDirectory()) {
            FileLocks locks = files.locks();
            FileLocks.Work<NFS3Response> work =
                    () ->
                            rename(
                                    from,
                                    request.getFromName(),
                                    to,
                                    request.getToName(),
                                    call.caller());
            return locks.holding(from.key(), to.key(), () -> locks.changingNames(work));
        }
    }

    private NFS3Response rename(
            Located from, String oldName, Located to, String newName, Caller caller)
            throws IOException {
        Path source = from.child(oldName);
        Path target = to.child(newName);
        UnixAttributes fromBefore = from.currentAttributes();
        UnixAttributes toBefore = to.currentAttributes();
        caller.require(Caller.EXECUTE, fromBefore);
        caller.require(Caller.EXECUTE, toBefore);
        UnixAttributes moved = existing(from, oldName);
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
        return new RENAME3Response(
                Nfs3Status.NFS3_OK,
                changed(fromBefore.getWccAttr(), from),
                changed(toBefore.getWccAttr(), to));
    }

    NFS3Response link(Nfs3Call call) throws IOException {
        LINK3Request request = LINK3Request.deserialize(call.in());
        String name = request.getFromName();
        return files.inDirectory(
                request.getFromDirHandle(),
                directory ->
                        files.onFile(
                                request.getHandle(),
                                file -> {
                                    if (file.attributes().isDirectory()) {
                                        throw new NfsException(
                                                Nfs3Status.NFS3ERR_INVAL, "a directory");
                                    }
                                    Path path = directory.child(name);
                                    UnixAttributes before = directory.currentAttributes();
                                    call.caller().requireChange(before, null);
                                    UnixAttributes linked = file.currentAttributes();
                                    Files.createLink(path, file.path());
                                    export.remember(linked, directory.key(), name);
                                    return new LinkResponse(
                                            file.currentAttributes(),
                                            changed(before.getWccAttr(), directory));
                                }));
    }

    static UnixAttributes existing(Located directory, String name) throws IOException {
        UnixAttributes attributes = directory.childAttributes(name);
        if (attributes == null) {
            throw new NoSuchFileException(name);
        }
        return attributes;
    }

    static WccData changed(WccAttr before, Located directory) throws IOException {
        return new WccData(before, directory.currentAttributes());
    }
}
