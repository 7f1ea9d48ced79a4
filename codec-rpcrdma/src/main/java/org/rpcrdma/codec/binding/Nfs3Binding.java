// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/** NFS version 3 (RFC 1813) on RPC-over-RDMA (RFC 8267, 4). */
public final class Nfs3Binding implements UpperLayerBinding {

    /** The program number of NFS. */
    public static final int PROGRAM = 100003;

    private static final int VERSION = 3;

    private static final int NULL = 0;
    private static final int GETATTR = 1;
    private static final int SETATTR = 2;
    private static final int LOOKUP = 3;
    private static final int ACCESS = 4;
    private static final int READLINK = 5;
    private static final int READ = 6;
    private static final int WRITE = 7;
    private static final int CREATE = 8;
    private static final int MKDIR = 9;
    private static final int SYMLINK = 10;
    private static final int MKNOD = 11;
    private static final int REMOVE = 12;
    private static final int RMDIR = 13;
    private static final int RENAME = 14;
    private static final int LINK = 15;
    private static final int READDIR = 16;
    private static final int READDIRPLUS = 17;
    private static final int FSSTAT = 18;
    private static final int FSINFO = 19;
    private static final int PATHCONF = 20;
    private static final int COMMIT = 21;

    private static final int NFS3_OK = 0;
    private static final int SET_TO_CLIENT_TIME = 2;

    private static final int FHSIZE = 64;
    private static final int FATTR = 84;

    /** RFC 1813 does not bound paths; this is the limit of current servers. */
    private static final int PATH_MAX = 4096;

    /** The greatest name, path or file data taken; counts above it would overflow 32-bit arithmetic. */
    private static final int UNBOUNDED = Integer.MAX_VALUE - 3;

    // Longest results in words, from the XDR of RFC 1813. An attribute block is 21 words, an
    // optional one 22, weak cache
    // consistency data 29, a file handle 17, an optional one 18.
    private static final int GETATTR_WORDS = 1 + 21;
    private static final int SETATTR_WORDS = 1 + 29;
    private static final int LOOKUP_WORDS = 1 + 17 + 22 + 22;
    private static final int ACCESS_WORDS = 1 + 22 + 1;
    private static final int READLINK_WORDS = 1 + 22 + 1;
    private static final int READ_WORDS = 1 + 22 + 3;
    private static final int WRITE_WORDS = 1 + 29 + 4;
    private static final int CREATE_WORDS = 1 + 18 + 22 + 29;
    private static final int RENAME_WORDS = 1 + 29 + 29;
    private static final int LINK_WORDS = 1 + 22 + 29;
    private static final int READDIR_WORDS = 1 + 22 + 3;
    private static final int FSSTAT_WORDS = 1 + 22 + 13;
    private static final int FSINFO_WORDS = 1 + 22 + 12;
    private static final int PATHCONF_WORDS = 1 + 22 + 6;
    private static final int COMMIT_WORDS = 1 + 29 + 2;

    private static final ProcedureNames NAMES =
            new ProcedureNames(
                    "NFSv3",
                    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR "
                            + "SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR READDIRPLUS FSSTAT "
                            + "FSINFO PATHCONF COMMIT");

    /** Has no state: one serves any number of registries. */
    public Nfs3Binding() {}

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
            case NULL,
                    GETATTR,
                    LOOKUP,
                    ACCESS,
                    READLINK,
                    READ,
                    READDIR,
                    READDIRPLUS,
                    FSSTAT,
                    FSINFO,
                    PATHCONF,
                    WRITE,
                    COMMIT ->
                    true;
            default -> false;
        };
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        switch (procedure) {
            case WRITE -> {
                in.opaque(FHSIZE);
                in.skip(8 + 4 + 4); // offset, count, stable
                in.eligibleOpaque(UNBOUNDED);
            }
            case SYMLINK -> {
                in.opaque(FHSIZE);
                in.opaque(UNBOUNDED);
                settableAttributes(in);
                in.eligibleOpaque(UNBOUNDED);
            }
            default -> {
                // RFC 8267, 4: no other argument is eligible.
            }
        }
    }

    private static void settableAttributes(XdrCursor in) throws MalformedMessageException {
        for (int i = 0; i < 3; i++) { // mode, uid, gid
            if (in.bool()) {
                in.skip(4);
            }
        }
        if (in.bool()) {
            in.skip(8); // size
        }
        for (int i = 0; i < 2; i++) { // atime, mtime
            int how = in.int32();
            if (how < 0 || how > SET_TO_CLIENT_TIME) {
                throw MalformedMessageException.INSTANCE;
            }
            if (how == SET_TO_CLIENT_TIME) {
                in.skip(8);
            }
        }
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        if ((procedure != READ && procedure != READLINK) || in.int32() != NFS3_OK) {
            return;
        }
        if (in.bool()) {
            in.skip(FATTR);
        }
        if (procedure == READ) {
            in.skip(4); // count
            in.bool(); // eof
        }
        in.eligibleOpaque(UNBOUNDED);
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits)
            throws MalformedMessageException {
        switch (procedure) {
            case NULL -> limits.results(0);
            case GETATTR -> words(limits, GETATTR_WORDS);
            case SETATTR, REMOVE, RMDIR -> words(limits, SETATTR_WORDS);
            case LOOKUP -> words(limits, LOOKUP_WORDS);
            case ACCESS -> words(limits, ACCESS_WORDS);
            // The path is eligible, yet no sink is offered: a Linux server misplaces it, and its
            // own client takes a Reply
            // chunk. A requester may always leave an eligible result in the payload (RFC 8166,
            // 4.3.2.3).
            case READLINK -> limits.results(4L * READLINK_WORDS + PATH_MAX);
            case READ -> {
                arguments.opaque(FHSIZE);
                arguments.skip(8); // offset
                words(limits, READ_WORDS);
                limits.sink(arguments.uint32());
            }
            case WRITE -> words(limits, WRITE_WORDS);
            case CREATE, MKDIR, SYMLINK, MKNOD -> words(limits, CREATE_WORDS);
            case RENAME -> words(limits, RENAME_WORDS);
            case LINK -> words(limits, LINK_WORDS);
            case READDIR, READDIRPLUS -> {
                arguments.opaque(FHSIZE);
                arguments.skip(8 + 8); // cookie, cookie verifier
                if (procedure == READDIRPLUS) {
                    arguments.skip(4); // dircount bounds names only; maxcount bounds the results
                }
                limits.results(4L * READDIR_WORDS + arguments.uint32());
            }
            case FSSTAT -> words(limits, FSSTAT_WORDS);
            case FSINFO -> words(limits, FSINFO_WORDS);
            case PATHCONF -> words(limits, PATHCONF_WORDS);
            case COMMIT -> words(limits, COMMIT_WORDS);
            default -> limits.results(0); // answered with PROC_UNAVAIL
        }
    }

    private static void words(ReplyLimits limits, int words) {
        limits.results(4L * words);
    }
}
