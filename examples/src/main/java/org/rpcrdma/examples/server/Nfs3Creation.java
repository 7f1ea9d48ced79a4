// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.export.UnixAttributes;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/**
 * CREATE, MKDIR and SYMLINK (RFC 1813, 3.3.8 to 3.3.10). What is made is for the server's user alone until it has its
 * owner and mode, and goes again when it cannot have them.
 */
final class Nfs3Creation {

    /** {@code createmode3}. */
    private static final int UNCHECKED = 0;

    private static final int GUARDED = 1;
    private static final int EXCLUSIVE = 2;

    private final Nfs3Files files;
    private final Export export;

    Nfs3Creation(Nfs3Files files) {
        this.files = files;
        export = files.export();
    }

    /** A name for something new in a directory. */
    private record Place(Located directory, UnixAttributes parent, Path path, Caller caller) {}

    private interface Making {
        /** @param existing what has the name already, or {@code null} */
        void run(Place place, UnixAttributes existing) throws IOException;
    }

    /** What the three have in common: their checks of the directory, and their results. */
    private XdrEncodable make(Nfs3Call call, NfsHandle parent, String name, Making making)
            throws IOException {
        return files.inDirectory(
                parent,
                directory -> {
                    Path path = directory.child(name);
                    UnixAttributes before = directory.currentAttributes();
                    call.caller().require(Caller.EXECUTE, before);
                    UnixAttributes existing = directory.childAttributes(name);
                    // Whoever may not write to the directory is told that the name is taken, as by
                    // the system.
                    if (existing == null) {
                        call.caller().requireChange(before, null);
                    }
                    making.run(new Place(directory, before, path, call.caller()), existing);
                    UnixAttributes made = directory.existing(name);
                    NfsHandle handle = export.handle(directory.key(), name, made);
                    WccData changed = new WccData(before, directory.currentAttributes());
                    return out ->
                            out.writeBoolean(true)
                                    .write(handle)
                                    .write(made.optional())
                                    .write(changed);
                });
    }

    XdrEncodable create(Nfs3Call call) throws IOException {
        NfsHandle parent = call.readHandle();
        String name = call.readName();
        int how = call.in().readInt();
        NewAttributes wanted =
                switch (how) {
                    case UNCHECKED, GUARDED -> NewAttributes.read(call.in());
                    case EXCLUSIVE -> NewAttributes.ofVerifier(call.in().readLong());
                    default -> throw new MalformedXdrException("createmode3 " + how);
                };
        return make(
                call,
                parent,
                name,
                (place, existing) -> {
                    if (existing == null) {
                        createFile(place, name, wanted);
                    } else if (!existing.isRegularFile()
                            || how == GUARDED
                            || (how == EXCLUSIVE && !wanted.areTimesOf(existing))) {
                        throw new FileAlreadyExistsException(name);
                    } else if (wanted.size() != null) {
                        truncate(place, name, existing, wanted.size());
                    }
                });
    }

    private static void createFile(Place place, String name, NewAttributes wanted)
            throws IOException {
        try (OpenFile made = place.directory.create(name)) {
            orRemove(
                    place.path,
                    () -> {
                        giveToCaller(place, made.path(), made.options());
                        UnixAttributes before = made.attributes();
                        wanted.check(before, place.caller);
                        wanted.applyTo(made, before, place.caller);
                    });
        }
    }

    /** Of the attributes for a file that is there already, only the size counts. */
    private void truncate(Place place, String name, UnixAttributes existing, long size)
            throws IOException {
        NewAttributes wanted = NewAttributes.ofSize(size);
        wanted.check(existing, place.caller);
        NfsHandle handle = export.handle(place.directory.key(), name, existing);
        try (Located file = export.locate(handle);
                OpenFile open = file.open(StandardOpenOption.WRITE)) {
            wanted.applyTo(open, existing, place.caller);
        }
    }

    XdrEncodable mkdir(Nfs3Call call) throws IOException {
        NfsHandle parent = call.readHandle();
        String name = call.readName();
        NewAttributes wanted = NewAttributes.read(call.in());
        return make(
                call,
                parent,
                name,
                (place, existing) -> {
                    requireFree(place, existing);
                    Files.createDirectory(
                            place.path,
                            PosixFilePermissions.asFileAttribute(
                                    PosixFilePermissions.fromString("rwx------")));
                    orRemove(place.path, () -> finishDirectory(place, name, wanted));
                });
    }

    private static void finishDirectory(Place place, String name, NewAttributes wanted)
            throws IOException {
        // Below a directory with the set-group bit it has that bit too, whatever mode a client
        // wants for it, and whoever is in the group (mkdir(2)).
        int inherited = place.directory.existing(name).mode() & UnixAttributes.SET_GID;
        giveToCaller(place, place.path, LinkOption.NOFOLLOW_LINKS);
        UnixAttributes before = place.directory.existing(name);
        wanted.check(before, place.caller);
        Caller maker = inherited == 0 ? place.caller : place.caller.unchecked();
        wanted.withMode(inherited).applyTo(place.path, before, maker, LinkOption.NOFOLLOW_LINKS);
    }

    /** Java leaves out what does not matter in a path: of {@code a//b/} it makes {@code a/b}. */
    XdrEncodable symlink(Nfs3Call call) throws IOException {
        NfsHandle parent = call.readHandle();
        String name = call.readName();
        NewAttributes.read(call.in()); // of which a link has none
        String target = Located.requireUtf8(call.readName());
        if (target.isEmpty()) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "a symbolic link to nothing");
        }
        return make(
                call,
                parent,
                name,
                (place, existing) -> {
                    requireFree(place, existing);
                    Files.createSymbolicLink(place.path, Path.of(target));
                    orRemove(
                            place.path,
                            () -> giveToCaller(place, place.path, LinkOption.NOFOLLOW_LINKS));
                });
    }

    private static void requireFree(Place place, UnixAttributes existing)
            throws FileAlreadyExistsException {
        if (existing != null) {
            throw new FileAlreadyExistsException(place.path.toString());
        }
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

    /** A server of root makes files for other users, of the directory's group where that is set so. */
    private static void giveToCaller(Place place, Path path, LinkOption... options)
            throws IOException {
        Caller caller = place.caller;
        if (caller.isChecked()) {
            if ((place.parent.mode() & UnixAttributes.SET_GID) == 0) {
                Files.setAttribute(path, "unix:gid", caller.gid(), options);
            }
            Files.setAttribute(path, "unix:uid", caller.uid(), options);
        }
    }
}
