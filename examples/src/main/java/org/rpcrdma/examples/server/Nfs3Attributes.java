// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.export.UnixAttributes;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** The attributes of files and of the file system (RFC 1813, 3.3.1, 3.3.2, 3.3.4 and 3.3.18 to 3.3.20). */
final class Nfs3Attributes {

    private static final int LINK_MAX = 32000;
    private static final int NAME_MAX = 255;
    private static final int MULTIPLE = 4096;

    /** FSF3_LINK, FSF3_SYMLINK, FSF3_HOMOGENEOUS and FSF3_CANSETTIME. */
    private static final int PROPERTIES = 0x1 | 0x2 | 0x8 | 0x10;

    private static final int ACCESS_READ = 0x1;
    private static final int ACCESS_LOOKUP = 0x2;
    private static final int ACCESS_MODIFY_EXTEND = 0x4 | 0x8;
    private static final int ACCESS_DELETE = 0x10;
    private static final int ACCESS_EXECUTE = 0x20;

    private final Nfs3Files files;
    private final Caller.Policy policy;

    Nfs3Attributes(Nfs3Files files, Caller.Policy policy) {
        this.files = files;
        this.policy = policy;
    }

    private UnixAttributes attributes(NfsHandle handle) throws IOException {
        try (Located file = files.export().locate(handle)) {
            return file.attributes();
        }
    }

    XdrEncodable getattr(Nfs3Call call) throws IOException {
        return attributes(call.readHandle());
    }

    XdrEncodable setattr(Nfs3Call call) throws IOException {
        NfsHandle handle = call.readHandle();
        NewAttributes wanted = NewAttributes.read(call.in());
        Instant guard = call.in().readBoolean() ? NewAttributes.readTime(call.in()) : null;
        return files.changing(
                handle,
                file ->
                        files.locks()
                                .withNamesKept(() -> change(file, guard, wanted, call.caller())));
    }

    private static XdrEncodable change(
            Located file, Instant guard, NewAttributes wanted, Caller caller) throws IOException {
        UnixAttributes before = file.currentAttributes();
        if (guard != null && !guard.equals(before.changed())) {
            throw new NfsException(Nfs3Status.NFS3ERR_NOT_SYNC, "the file has changed");
        }
        wanted.check(before, caller);
        boolean hasSize = wanted.size() != null;
        if (hasSize || (before.isRegularFile() && Files.isReadable(file.path()))) {
            try (OpenFile open =
                    file.open(hasSize ? StandardOpenOption.WRITE : StandardOpenOption.READ)) {
                wanted.applyTo(open, before, caller);
            }
        } else {
            wanted.applyTo(file.self(), before, caller, file.options());
        }
        return new WccData(before, file.currentAttributes());
    }

    XdrEncodable access(Nfs3Call call) throws IOException {
        NfsHandle handle = call.readHandle();
        int wanted = call.in().readInt();
        try (Located file = files.export().locate(handle)) {
            UnixAttributes attributes = file.attributes();
            int rights =
                    policy == Caller.Policy.AS_SERVER
                            ? rightsOfServer(file)
                            : call.caller().rights(attributes);
            int granted = wanted & granted(rights, attributes.isDirectory());
            return out -> out.write(attributes.optional()).writeInt(granted);
        }
    }

    private int granted(int rights, boolean isDirectory) {
        int granted = (rights & Caller.READ) != 0 ? ACCESS_READ : 0;
        if ((rights & Caller.WRITE) != 0 && !files.export().isReadOnly()) {
            granted |= ACCESS_MODIFY_EXTEND | (isDirectory ? ACCESS_DELETE : 0);
        }
        if ((rights & Caller.EXECUTE) != 0) {
            granted |= isDirectory ? ACCESS_LOOKUP : ACCESS_EXECUTE;
        }
        return granted;
    }

    private static int rightsOfServer(Located file) {
        if (file.attributes().isSymbolicLink()) {
            return Caller.READ | Caller.WRITE | Caller.EXECUTE;
        }
        return (Files.isReadable(file.path()) ? Caller.READ : 0)
                | (Files.isWritable(file.path()) ? Caller.WRITE : 0)
                | (Files.isExecutable(file.path()) ? Caller.EXECUTE : 0);
    }

    XdrEncodable fsstat(Nfs3Call call) throws IOException {
        UnixAttributes attributes = attributes(call.readHandle());
        // Of the export, whatever the file is: Java would follow a symbolic link.
        FileStore store = files.export().fileStore();
        long total = store.getTotalSpace();
        long free = store.getUnallocatedSpace();
        long usable = store.getUsableSpace();
        // Java does not know how many files there may be.
        long count = Integer.MAX_VALUE;
        return out -> {
            out.write(attributes.optional()).writeLong(total).writeLong(free).writeLong(usable);
            out.writeLong(count).writeLong(count).writeLong(count);
            out.writeInt(0); // it may change at any time
        };
    }

    XdrEncodable fsinfo(Nfs3Call call) throws IOException {
        UnixAttributes attributes = attributes(call.readHandle());
        return out -> {
            out.write(attributes.optional());
            for (int direction = 0; direction < 2; direction++) { // READ, then WRITE
                out.writeInt(Nfs3Data.TRANSFER_MAX).writeInt(Nfs3Data.TRANSFER_MAX);
                out.writeInt(MULTIPLE);
            }
            out.writeInt(Nfs3Directories.TRANSFER).writeLong(Long.MAX_VALUE);
            out.writeInt(0).writeInt(1); // times to the nanosecond
            out.writeInt(PROPERTIES);
        };
    }

    XdrEncodable pathconf(Nfs3Call call) throws IOException {
        UnixAttributes attributes = attributes(call.readHandle());
        return out -> {
            out.write(attributes.optional()).writeInt(LINK_MAX).writeInt(NAME_MAX);
            out.writeBoolean(true).writeBoolean(true); // no_trunc, chown_restricted
            out.writeBoolean(false).writeBoolean(true); // case_insensitive, case_preserving
        };
    }
}
