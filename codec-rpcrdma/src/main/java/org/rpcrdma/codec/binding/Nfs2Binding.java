// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/** NFS version 2 (RFC 1094) on RPC-over-RDMA (RFC 8267, 4). */
public final class Nfs2Binding implements UpperLayerBinding {

    /** The program number of NFS. */
    public static final int PROGRAM = 100003;

    private static final int VERSION = 2;

    private static final int NULL = 0;
    private static final int GETATTR = 1;
    private static final int SETATTR = 2;
    private static final int LOOKUP = 4;
    private static final int READLINK = 5;
    private static final int READ = 6;
    private static final int WRITE = 8;
    private static final int CREATE = 9;
    private static final int REMOVE = 10;
    private static final int RENAME = 11;
    private static final int LINK = 12;
    private static final int SYMLINK = 13;
    private static final int MKDIR = 14;
    private static final int RMDIR = 15;
    private static final int READDIR = 16;
    private static final int STATFS = 17;

    private static final int NFS_OK = 0;
    private static final int FHSIZE = 32;
    private static final int FATTR = 17 * 4;
    private static final int MAXDATA = 8192;
    private static final int MAXPATHLEN = 1024;
    private static final int MAXNAMLEN = 255;

    private static final ProcedureNames NAMES =
            new ProcedureNames(
                    "NFSv2",
                    "NULL GETATTR SETATTR ROOT LOOKUP READLINK READ WRITECACHE WRITE "
                            + "CREATE REMOVE RENAME LINK SYMLINK MKDIR RMDIR READDIR STATFS");

    /** Has no state: one serves any number of registries. */
    public Nfs2Binding() {}

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version == VERSION;
    }

    @Override
    public String procedureName(int version, int procedure) {
        return NAMES.of(procedure);
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return switch (procedure) {
            case NULL, GETATTR, LOOKUP, READLINK, READ, WRITE, READDIR, STATFS -> true;
            default -> false;
        };
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        switch (procedure) {
            case WRITE -> {
                in.skip(FHSIZE + 4 + 4 + 4); // beginoffset, offset, totalcount
                in.eligibleOpaque(MAXDATA);
            }
            case SYMLINK -> {
                in.skip(FHSIZE);
                in.opaque(MAXNAMLEN);
                in.eligibleOpaque(MAXPATHLEN);
            }
            default -> {
                // RFC 8267, 4: no other argument is eligible.
            }
        }
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        if ((procedure != READ && procedure != READLINK) || in.int32() != NFS_OK) {
            return;
        }
        if (procedure == READ) {
            in.skip(FATTR);
            in.eligibleOpaque(MAXDATA);
        } else {
            in.eligibleOpaque(MAXPATHLEN);
        }
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits)
            throws MalformedMessageException {
        switch (procedure) {
            case GETATTR, SETATTR, WRITE -> limits.results(4 + FATTR);
            case LOOKUP, CREATE, MKDIR -> limits.results(4 + FHSIZE + FATTR);
            // No sink, as in version 3: a Linux server misplaces the path.
            case READLINK -> limits.results(4 + 4 + MAXPATHLEN);
            case READ -> {
                arguments.skip(FHSIZE + 4); // offset
                limits.results(4 + FATTR + 4);
                limits.sink(Math.min(MAXDATA, arguments.uint32()));
            }
            case REMOVE, RENAME, LINK, SYMLINK, RMDIR -> limits.results(4);
            case READDIR -> {
                arguments.skip(FHSIZE + 4); // cookie
                // Status, and the end of the list with its flag; count bounds the entries.
                limits.results(4 + 4 + 4 + arguments.uint32());
            }
            case STATFS -> limits.results(4 + 5 * 4);
            default -> limits.results(0); // NULL, or not in use
        }
    }
}
