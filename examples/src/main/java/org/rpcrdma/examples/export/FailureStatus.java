// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.NotLinkException;
import java.util.Map;
import org.rpcrdma.examples.nfs.Nfs3Status;

/** The NFSv3 status (RFC 1813, 2.6) of what Java says about a failed operation. */
public final class FailureStatus {

    /** Java has no types for these: the system's words, in the C locale, are all there is. */
    private static final Map<String, Integer> BY_REASON =
            Map.ofEntries(
                    Map.entry("Operation not permitted", Nfs3Status.NFS3ERR_PERM),
                    Map.entry("No such file or directory", Nfs3Status.NFS3ERR_NOENT),
                    Map.entry("Permission denied", Nfs3Status.NFS3ERR_ACCES),
                    Map.entry("File exists", Nfs3Status.NFS3ERR_EXIST),
                    Map.entry("Invalid cross-device link", Nfs3Status.NFS3ERR_XDEV),
                    Map.entry("Not a directory", Nfs3Status.NFS3ERR_NOTDIR),
                    Map.entry("Is a directory", Nfs3Status.NFS3ERR_ISDIR),
                    Map.entry("Invalid argument", Nfs3Status.NFS3ERR_INVAL),
                    Map.entry("Too many levels of symbolic links", Nfs3Status.NFS3ERR_INVAL),
                    Map.entry("File too large", Nfs3Status.NFS3ERR_FBIG),
                    Map.entry("No space left on device", Nfs3Status.NFS3ERR_NOSPC),
                    Map.entry("Read-only file system", Nfs3Status.NFS3ERR_ROFS),
                    Map.entry("Too many links", Nfs3Status.NFS3ERR_MLINK),
                    Map.entry("File name too long", Nfs3Status.NFS3ERR_NAMETOOLONG),
                    Map.entry("Directory not empty", Nfs3Status.NFS3ERR_NOTEMPTY),
                    Map.entry("Disk quota exceeded", Nfs3Status.NFS3ERR_DQUOT),
                    Map.entry("Stale file handle", Nfs3Status.NFS3ERR_STALE),
                    Map.entry("Operation not supported", Nfs3Status.NFS3ERR_NOTSUPP),
                    Map.entry("Too many open files", Nfs3Status.NFS3ERR_JUKEBOX));

    private FailureStatus() {}

    /** @return an {@code NFS3ERR_} value, NFS3ERR_IO for what is not known */
    public static int of(Throwable failure) {
        if (failure instanceof NfsException e) {
            return e.status();
        } else if (failure instanceof NoSuchFileException) {
            return Nfs3Status.NFS3ERR_NOENT;
        } else if (failure instanceof FileAlreadyExistsException) {
            return Nfs3Status.NFS3ERR_EXIST;
        } else if (failure instanceof DirectoryNotEmptyException) {
            return Nfs3Status.NFS3ERR_NOTEMPTY;
        } else if (failure instanceof AccessDeniedException) {
            return Nfs3Status.NFS3ERR_ACCES;
        } else if (failure instanceof NotDirectoryException) {
            return Nfs3Status.NFS3ERR_NOTDIR;
        } else if (failure instanceof NotLinkException || failure instanceof InvalidPathException) {
            return Nfs3Status.NFS3ERR_INVAL;
        } else if (failure instanceof AtomicMoveNotSupportedException) {
            return Nfs3Status.NFS3ERR_XDEV;
        } else if (failure instanceof ClosedByInterruptException
                || failure instanceof OutOfMemoryError) {
            // The client may ask again later.
            return Nfs3Status.NFS3ERR_JUKEBOX;
        } else if (failure instanceof FileSystemException e && e.getReason() != null) {
            return byReason(e.getReason());
        } else if (failure instanceof IOException && failure.getMessage() != null) {
            return byReason(failure.getMessage());
        } else if (failure instanceof UnsupportedOperationException) {
            return Nfs3Status.NFS3ERR_NOTSUPP;
        }
        return failure instanceof IOException
                ? Nfs3Status.NFS3ERR_IO
                : Nfs3Status.NFS3ERR_SERVERFAULT;
    }

    private static int byReason(String message) {
        for (Map.Entry<String, Integer> reason : BY_REASON.entrySet()) {
            if (message.contains(reason.getKey())) {
                return reason.getValue();
            }
        }
        return Nfs3Status.NFS3ERR_IO;
    }
}
