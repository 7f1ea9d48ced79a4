// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import java.io.IOException;
import java.util.Map;
import org.rpcrdma.examples.nfs.Nfs3Status;

/** The server has answered with a status other than NFS3_OK or MNT3_OK (RFC 1813, 2.6 and 5.1.5). */
public final class NfsStatusException extends IOException {

    private static final long serialVersionUID = 1L;

    private static final Map<Integer, String> TEXTS =
            Map.ofEntries(
                    Map.entry(Nfs3Status.NFS3ERR_PERM, "not the owner"),
                    Map.entry(Nfs3Status.NFS3ERR_NOENT, "no such file or directory"),
                    Map.entry(Nfs3Status.NFS3ERR_IO, "the server has a disk error"),
                    Map.entry(Nfs3Status.NFS3ERR_ACCES, "permission denied"),
                    Map.entry(Nfs3Status.NFS3ERR_EXIST, "exists already"),
                    Map.entry(Nfs3Status.NFS3ERR_XDEV, "on another file system"),
                    Map.entry(Nfs3Status.NFS3ERR_NOTDIR, "not a directory"),
                    Map.entry(Nfs3Status.NFS3ERR_ISDIR, "is a directory"),
                    Map.entry(Nfs3Status.NFS3ERR_INVAL, "invalid argument"),
                    Map.entry(Nfs3Status.NFS3ERR_FBIG, "file too large"),
                    Map.entry(Nfs3Status.NFS3ERR_NOSPC, "no space left on the server"),
                    Map.entry(Nfs3Status.NFS3ERR_ROFS, "the export is read-only"),
                    Map.entry(Nfs3Status.NFS3ERR_MLINK, "too many links"),
                    Map.entry(Nfs3Status.NFS3ERR_NAMETOOLONG, "name too long"),
                    Map.entry(Nfs3Status.NFS3ERR_NOTEMPTY, "directory not empty"),
                    Map.entry(Nfs3Status.NFS3ERR_DQUOT, "quota exceeded"),
                    Map.entry(Nfs3Status.NFS3ERR_STALE, "the file is gone (stale handle)"),
                    Map.entry(Nfs3Status.NFS3ERR_BADHANDLE, "bad file handle"),
                    Map.entry(Nfs3Status.NFS3ERR_NOT_SYNC, "changed meanwhile"),
                    Map.entry(Nfs3Status.NFS3ERR_BAD_COOKIE, "bad directory cookie"),
                    Map.entry(Nfs3Status.NFS3ERR_NOTSUPP, "not supported by the server"),
                    Map.entry(Nfs3Status.NFS3ERR_TOOSMALL, "too small"),
                    Map.entry(Nfs3Status.NFS3ERR_SERVERFAULT, "the server has failed"),
                    Map.entry(Nfs3Status.NFS3ERR_JUKEBOX, "the server is busy"));

    private final int status;

    /** @param what the name of what was asked for */
    NfsStatusException(String what, int status) {
        super(what + ": " + TEXTS.getOrDefault(status, "status " + status));
        this.status = status;
    }

    public int status() {
        return status;
    }
}
