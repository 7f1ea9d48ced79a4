// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/**
 * The operations of NFS version 4 (RFC 7531, RFC 5662, RFC 7863, RFC 8276) by their numbers. A minor version adds
 * operations and never changes the XDR of one (RFC 8178, 4.4), so one table serves all of them.
 */
final class Nfs4OperationNumbers {

    static final int ACCESS = 3;
    static final int CLOSE = 4;
    static final int COMMIT = 5;
    static final int CREATE = 6;
    static final int DELEGPURGE = 7;
    static final int DELEGRETURN = 8;
    static final int GETATTR = 9;
    static final int GETFH = 10;
    static final int LINK = 11;
    static final int LOCK = 12;
    static final int LOCKT = 13;
    static final int LOCKU = 14;
    static final int LOOKUP = 15;
    static final int LOOKUPP = 16;
    static final int NVERIFY = 17;
    static final int OPEN = 18;
    static final int OPENATTR = 19;
    static final int OPEN_CONFIRM = 20;
    static final int OPEN_DOWNGRADE = 21;
    static final int PUTFH = 22;
    static final int PUTPUBFH = 23;
    static final int PUTROOTFH = 24;
    static final int READ = 25;
    static final int READDIR = 26;
    static final int READLINK = 27;
    static final int REMOVE = 28;
    static final int RENAME = 29;
    static final int RENEW = 30;
    static final int RESTOREFH = 31;
    static final int SAVEFH = 32;
    static final int SECINFO = 33;
    static final int SETATTR = 34;
    static final int SETCLIENTID = 35;
    static final int SETCLIENTID_CONFIRM = 36;
    static final int VERIFY = 37;
    static final int WRITE = 38;
    static final int RELEASE_LOCKOWNER = 39;

    // Minor version 1
    static final int BACKCHANNEL_CTL = 40;
    static final int BIND_CONN_TO_SESSION = 41;
    static final int EXCHANGE_ID = 42;
    static final int CREATE_SESSION = 43;
    static final int DESTROY_SESSION = 44;
    static final int FREE_STATEID = 45;
    static final int GET_DIR_DELEGATION = 46;
    static final int GETDEVICEINFO = 47;
    static final int GETDEVICELIST = 48;
    static final int LAYOUTCOMMIT = 49;
    static final int LAYOUTGET = 50;
    static final int LAYOUTRETURN = 51;
    static final int SECINFO_NO_NAME = 52;
    static final int SEQUENCE = 53;
    static final int SET_SSV = 54;
    static final int TEST_STATEID = 55;
    static final int WANT_DELEGATION = 56;
    static final int DESTROY_CLIENTID = 57;
    static final int RECLAIM_COMPLETE = 58;

    // Minor version 2
    static final int ALLOCATE = 59;
    static final int COPY = 60;
    static final int COPY_NOTIFY = 61;
    static final int DEALLOCATE = 62;
    static final int IO_ADVISE = 63;
    static final int LAYOUTERROR = 64;
    static final int LAYOUTSTATS = 65;
    static final int OFFLOAD_CANCEL = 66;
    static final int OFFLOAD_STATUS = 67;
    static final int READ_PLUS = 68;
    static final int SEEK = 69;
    static final int WRITE_SAME = 70;
    static final int CLONE = 71;

    // RFC 8276
    static final int GETXATTR = 72;
    static final int SETXATTR = 73;
    static final int LISTXATTRS = 74;
    static final int REMOVEXATTR = 75;

    static final int ILLEGAL = 10044;

    private Nfs4OperationNumbers() {}

    /**
     * Whether a Linux server puts results of the operation into a Write chunk where no requester looks for them: the
     * text of READLINK begins at the wrong place there, and data of READ_PLUS are not eligible (RFC 8267, 6.1).
     */
    static boolean isMisplaced(int operation) {
        return operation == READLINK || operation == READ_PLUS;
    }

    /**
     * Whether the operation may be executed twice without harm. SEQUENCE is not among them: a slot's request is not
     * repeated on a connection that is still there (RFC 8881, 2.10.6.2), so only the owner of the session can
     * repeat it.
     */
    static boolean isIdempotent(int operation) {
        return switch (operation) {
            case ACCESS,
                    COMMIT,
                    GETATTR,
                    GETFH,
                    LOCKT,
                    LOOKUP,
                    LOOKUPP,
                    NVERIFY,
                    PUTFH,
                    PUTPUBFH,
                    PUTROOTFH,
                    READ,
                    READDIR,
                    READLINK,
                    RENEW,
                    RESTOREFH,
                    SAVEFH,
                    SECINFO,
                    VERIFY,
                    WRITE,
                    GETDEVICEINFO,
                    GETDEVICELIST,
                    SECINFO_NO_NAME,
                    TEST_STATEID,
                    IO_ADVISE,
                    OFFLOAD_STATUS,
                    READ_PLUS,
                    SEEK,
                    GETXATTR,
                    LISTXATTRS ->
                    true;
            default -> false;
        };
    }
}
