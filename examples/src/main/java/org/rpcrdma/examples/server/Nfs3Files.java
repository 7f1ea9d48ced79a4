// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileLocks;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** The files of an export as the procedures use them. */
record Nfs3Files(Export export, FileLocks locks) {

    /** What is done with a file. */
    interface FileOperation<T> {
        T run(Located file) throws IOException;
    }

    /** Again, if the file is renamed between being found and being used. */
    <T> T onFile(NfsHandle handle, FileOperation<T> operation) throws IOException {
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
    <T> T inDirectory(NfsHandle handle, FileOperation<T> operation) throws IOException {
        requireWritable();
        try (Located directory = export.locate(handle).requireDirectory()) {
            return locks.holding(
                    directory.key(), () -> locks.changingNames(() -> operation.run(directory)));
        }
    }

    /** As {@link #onFile}, with nobody else changing the file. */
    <T> T changing(NfsHandle handle, FileOperation<T> operation) throws IOException {
        requireWritable();
        return onFile(handle, file -> locks.holding(file.key(), () -> operation.run(file)));
    }

    /** With nobody giving the name to another file before it is open. */
    OpenFile open(Located file, StandardOpenOption how) throws IOException {
        return locks.withNamesKept(() -> file.open(how));
    }

    void requireWritable() throws NfsException {
        if (export.isReadOnly()) {
            throw new NfsException(Nfs3Status.NFS3ERR_ROFS, "the export is read-only");
        }
    }
}
