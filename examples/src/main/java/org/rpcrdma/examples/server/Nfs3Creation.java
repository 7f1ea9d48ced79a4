// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import org.apache.hadoop.nfs.NfsTime;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.CREATE3Request;
import org.apache.hadoop.nfs.nfs3.request.MKDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.SYMLINK3Request;
import org.apache.hadoop.nfs.nfs3.request.SetAttr3;
import org.apache.hadoop.nfs.nfs3.request.SetAttr3.SetAttrField;
import org.apache.hadoop.nfs.nfs3.response.CREATE3Response;
import org.apache.hadoop.nfs.nfs3.response.MKDIR3Response;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.nfs.nfs3.response.SYMLINK3Response;
import org.apache.hadoop.oncrpc.XDR;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.export.UnixAttributes;

/**
 * CREATE, MKDIR and SYMLINK (RFC 1813, 3.3.8 to 3.3.10). What is made is for the server's user alone until it has its
 * owner and mode, and goes again when it cannot have them.
 */
final class Nfs3Creation {

    private final Nfs3Files files;
    private final Export export;

    Nfs3Creation(Nfs3Files files) {
        this.files = files;
        export = files.export();
    }

    NFS3Response create(Nfs3Call call) throws IOException {
        CREATE3Request request = CREATE3Request.deserialize(call.in());
        boolean exclusive = request.getMode() == Nfs3Constant.CREATE_EXCLUSIVE;
        // The verifier is kept where a client sets its own values next (RFC 1813, 3.3.8).
        SetAttr3 wanted = exclusive ? verifierAttributes(request.getVerf()) : request.getObjAttr();
        String name = request.getName();
        return files.inDirectory(
                request.getHandle(),
                directory -> {
                    UnixAttributes before = directory.currentAttributes();
                    call.caller().require(Caller.EXECUTE, before);
                    UnixAttributes existing = directory.childAttributes(name);
                    if (existing == null) {
                        call.caller().requireChange(before, null);
                        make(directory, before, name, wanted, call.caller());
                    } else if (!existing.isRegularFile()
                            || request.getMode() == Nfs3Constant.CREATE_GUARDED
                            || (exclusive && !hasVerifier(existing, wanted))) {
                        throw new FileAlreadyExistsException(name);
                    } else if (!exclusive) {
                        truncate(directory, name, existing, wanted, call.caller());
                    }
                    UnixAttributes created = Nfs3Names.existing(directory, name);
                    return new CREATE3Response(
                            Nfs3Status.NFS3_OK,
                            export.handle(directory.key(), name, created),
                            created,
                            Nfs3Names.changed(before.getWccAttr(), directory));
                });
    }

    private static void make(
            Located directory, UnixAttributes parent, String name, SetAttr3 wanted, Caller caller)
            throws IOException {
        try (OpenFile made = directory.create(name)) {
            orRemove(
                    directory.child(name),
                    () -> {
                        giveTo(caller, parent, made.path(), made.options());
                        AttributeChange change =
                                new AttributeChange(made.attributes(), wanted, caller);
                        change.check();
                        change.applyTo(made);
                    });
        }
    }

    /** Of the attributes for a file that is there already, only the size counts. */
    private void truncate(
            Located directory, String name, UnixAttributes existing, SetAttr3 wanted, Caller caller)
            throws IOException {
        if (wanted.getUpdateFields().contains(SetAttrField.SIZE)) {
            SetAttr3 size =
                    new SetAttr3(
                            0, 0, 0, wanted.getSize(), null, null, EnumSet.of(SetAttrField.SIZE));
            AttributeChange change = new AttributeChange(existing, size, caller);
            change.check();
            try (Located file = export.locate(export.handle(directory.key(), name, existing));
                    OpenFile open = file.open(StandardOpenOption.WRITE)) {
                change.applyTo(open);
            }
        }
    }

    NFS3Response mkdir(Nfs3Call call) throws IOException {
        MKDIR3Request request = MKDIR3Request.deserialize(call.in());
        String name = request.getName();
        return files.inDirectory(
                request.getHandle(),
                directory -> {
                    Path path = directory.child(name);
                    UnixAttributes before = directory.currentAttributes();
                    call.caller().require(Caller.EXECUTE, before);
                    requireFree(directory, name);
                    call.caller().requireChange(before, null);
                    Files.createDirectory(
                            path,
                            PosixFilePermissions.asFileAttribute(
                                    PosixFilePermissions.fromString("rwx------")));
                    orRemove(
                            path,
                            () -> {
                                UnixAttributes made = Nfs3Names.existing(directory, name);
                                giveTo(call.caller(), before, path, LinkOption.NOFOLLOW_LINKS);
                                AttributeChange change =
                                        new AttributeChange(
                                                Nfs3Names.existing(directory, name),
                                                inheriting(request.getObjAttr(), made),
                                                call.caller());
                                change.check();
                                change.applyTo(path, LinkOption.NOFOLLOW_LINKS);
                            });
                    UnixAttributes created = Nfs3Names.existing(directory, name);
                    return new MKDIR3Response(
                            Nfs3Status.NFS3_OK,
                            export.handle(directory.key(), name, created),
                            created,
                            Nfs3Names.changed(before.getWccAttr(), directory));
                });
    }

    /** Java leaves out what does not matter in a path: of {@code a//b/} it makes {@code a/b}. */
    NFS3Response symlink(Nfs3Call call) throws IOException {
        SYMLINK3Request request = SYMLINK3Request.deserialize(call.in());
        String name = request.getName();
        String target = Located.requireUtf8(request.getSymData());
        if (target.isEmpty()) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "a symbolic link to nothing");
        }
        return files.inDirectory(
                request.getHandle(),
                directory -> {
                    Path path = directory.child(name);
                    UnixAttributes before = directory.currentAttributes();
                    call.caller().require(Caller.EXECUTE, before);
                    requireFree(directory, name);
                    call.caller().requireChange(before, null);
                    Files.createSymbolicLink(path, Path.of(target));
                    orRemove(
                            path,
                            () -> giveTo(call.caller(), before, path, LinkOption.NOFOLLOW_LINKS));
                    UnixAttributes created = Nfs3Names.existing(directory, name);
                    return new SYMLINK3Response(
                            Nfs3Status.NFS3_OK,
                            export.handle(directory.key(), name, created),
                            created,
                            Nfs3Names.changed(before.getWccAttr(), directory));
                });
    }

    private interface Finish {
        void run() throws IOException;
    }

    private static void orRemove(Path made, Finish finish) throws IOException {
        try {
            finish.run();
        } catch (IOException | RuntimeException e) {
            Files.deleteIfExists(made);
            throw e;
        }
    }

    /** Whoever may not write to the directory is told that the name is taken, as by the system. */
    private static void requireFree(Located directory, String name) throws IOException {
        if (directory.childAttributes(name) != null) {
            throw new FileAlreadyExistsException(name);
        }
    }

    /** A server of root makes files for other users, of the directory's group where that is set so. */
    private static void giveTo(
            Caller caller, UnixAttributes directory, Path path, LinkOption... options)
            throws IOException {
        if (caller.isChecked()) {
            if ((directory.getMode() & Nfs3Constant.MODE_S_ISGID) == 0) {
                Files.setAttribute(path, "unix:gid", caller.gid(), options);
            }
            Files.setAttribute(path, "unix:uid", caller.uid(), options);
        }
    }

    /** A directory below one with the set-group bit has that bit too, whatever mode a client wants for it. */
    private static SetAttr3 inheriting(SetAttr3 wanted, UnixAttributes made) {
        int mode = wanted.getMode() | (made.getMode() & Nfs3Constant.MODE_S_ISGID);
        return new SetAttr3(
                mode,
                wanted.getUid(),
                wanted.getGid(),
                wanted.getSize(),
                wanted.getMtime(),
                wanted.getAtime(),
                wanted.getUpdateFields());
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
}
