// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import static org.rpcrdma.codec.binding.Nfs4OperationNumbers.*;
import static org.rpcrdma.codec.binding.Nfs4XdrTypes.*;

/** Parses the results of one successful operation of a COMPOUND and records the eligible ones (RFC 8267, 6.1). */
final class Nfs4ResultWalker {

    /** The results of an operation that are not always of the same size. */
    static final int VARIABLE = -1;

    private static final int DELEGATE_NONE = 0;
    private static final int DELEGATE_READ = 1;
    private static final int DELEGATE_WRITE = 2;
    private static final int DELEGATE_NONE_EXT = 3;
    private static final int DELEGATE_READ_ATTRS = 4; // RFC 9754
    private static final int DELEGATE_WRITE_ATTRS = 5; // RFC 9754
    private static final int WHY_CONTENTION = 1;
    private static final int WHY_RESOURCE = 2;

    private static final int PROTECT_NONE = 0;
    private static final int PROTECT_MACH_CRED = 1;
    private static final int PROTECT_SSV = 2;

    private static final int RPCSEC_GSS = 6;
    private static final int DIRECTORY_DELEGATED = 0;
    private static final int CONTENT_DATA = 0;
    private static final int CONTENT_HOLE = 1;

    private Nfs4ResultWalker() {}

    /** The bytes after the status of an operation that has succeeded; {@link #VARIABLE} for all that are not fixed. */
    static int fixedBytes(int operation) {
        return switch (operation) {
            case DELEGPURGE,
                    DELEGRETURN,
                    LOOKUP,
                    LOOKUPP,
                    NVERIFY,
                    OPENATTR,
                    PUTFH,
                    PUTPUBFH,
                    PUTROOTFH,
                    RENEW,
                    RESTOREFH,
                    SAVEFH,
                    SETCLIENTID_CONFIRM,
                    VERIFY,
                    RELEASE_LOCKOWNER,
                    BACKCHANNEL_CTL,
                    DESTROY_SESSION,
                    FREE_STATEID,
                    DESTROY_CLIENTID,
                    RECLAIM_COMPLETE,
                    ALLOCATE,
                    DEALLOCATE,
                    LAYOUTERROR,
                    LAYOUTSTATS,
                    OFFLOAD_CANCEL,
                    CLONE,
                    ILLEGAL ->
                    0;
            case ACCESS -> 4 + 4;
            case COMMIT -> VERIFIER;
            case SEEK -> 4 + 8;
            case CLOSE, LOCKU, OPEN_CONFIRM, OPEN_DOWNGRADE -> STATEID;
            case WRITE -> 4 + 4 + VERIFIER;
            case LINK, REMOVE, SETXATTR, REMOVEXATTR -> CHANGE_INFO;
            case BIND_CONN_TO_SESSION -> 16 + 4 + 4;
            case SEQUENCE -> 16 + 5 * 4;
            case RENAME -> 2 * CHANGE_INFO;
            default -> VARIABLE;
        };
    }

    /**
     * Parses the results of an operation.
     *
     * @param in after the status, which was NFS4_OK
     * @return {@code false} for an operation, or an arm of a union, that is not known: what follows cannot be found
     */
    static boolean skip(int operation, XdrCursor in) throws MalformedMessageException {
        int fixed = fixedBytes(operation);
        if (fixed != VARIABLE) {
            in.skip(fixed);
            return true;
        }
        switch (operation) {
            case READ -> {
                in.skip(4);
                eligible(in);
            }
            case READLINK -> eligible(in);
            case LOCKT -> {
                return true;
            }
            case LOCK -> in.skip(STATEID);
            case SETCLIENTID -> in.skip(8 + VERIFIER);
            case GETATTR -> attributes(in);
            case GETFH -> in.opaque(FHSIZE);
            case CREATE -> {
                in.skip(CHANGE_INFO);
                bitmap(in);
            }
            case SETATTR, IO_ADVISE -> bitmap(in);
            case OPEN -> {
                in.skip(STATEID + CHANGE_INFO + 4);
                bitmap(in);
                return delegation(in);
            }
            case WANT_DELEGATION -> {
                return delegation(in);
            }
            case READDIR -> directory(in);
            case SECINFO, SECINFO_NO_NAME -> security(in);
            case EXCHANGE_ID -> {
                return exchangeId(in);
            }
            case CREATE_SESSION -> {
                in.skip(16 + 4 + 4);
                channelAttributes(in);
                channelAttributes(in);
            }
            case GET_DIR_DELEGATION -> directoryDelegation(in);
            case GETDEVICEINFO -> {
                in.skip(4);
                in.opaque(UNBOUNDED);
                bitmap(in);
            }
            case GETDEVICELIST -> {
                in.skip(8 + VERIFIER);
                in.array(16);
                in.skip(4);
            }
            case LAYOUTCOMMIT -> in.optional(8);
            case LAYOUTGET -> {
                in.skip(4 + STATEID);
                for (int left = in.count(8 + 8 + 4 + 4 + 4); left > 0; left--) {
                    in.skip(8 + 8 + 4 + 4);
                    in.opaque(UNBOUNDED);
                }
            }
            case LAYOUTRETURN -> in.optional(STATEID);
            case SET_SSV, GETXATTR -> in.opaque(UNBOUNDED);
            case TEST_STATEID -> in.array(4);
            case WRITE_SAME -> writeResponse(in);
            case COPY -> {
                writeResponse(in);
                in.skip(4 + 4);
            }
            case COPY_NOTIFY -> {
                in.skip(TIME + STATEID);
                return netlocs(in);
            }
            case OFFLOAD_STATUS -> {
                in.skip(8);
                in.array(4);
            }
            case READ_PLUS -> {
                return contents(in);
            }
            case LISTXATTRS -> {
                in.skip(8);
                opaques(in);
                in.skip(4);
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static boolean delegation(XdrCursor in) throws MalformedMessageException {
        switch (in.int32()) {
            case DELEGATE_NONE -> {}
            case DELEGATE_READ, DELEGATE_READ_ATTRS -> {
                in.skip(STATEID + 4);
                accessControlEntry(in);
            }
            case DELEGATE_WRITE, DELEGATE_WRITE_ATTRS -> {
                in.skip(STATEID + 4);
                in.skip(4 + 8); // both kinds of space limit have the same size
                accessControlEntry(in);
            }
            case DELEGATE_NONE_EXT -> {
                int why = in.int32();
                if (why == WHY_CONTENTION || why == WHY_RESOURCE) {
                    in.skip(4);
                }
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static void accessControlEntry(XdrCursor in) throws MalformedMessageException {
        in.skip(3 * 4);
        string(in);
    }

    private static void directory(XdrCursor in) throws MalformedMessageException {
        in.skip(VERIFIER);
        while (in.bool()) { // each entry takes bytes, so the stream bounds the list
            in.skip(8);
            string(in);
            attributes(in);
        }
        in.skip(4);
    }

    private static void security(XdrCursor in) throws MalformedMessageException {
        for (int left = in.count(4); left > 0; left--) {
            if (in.int32() == RPCSEC_GSS) {
                in.opaque(UNBOUNDED);
                in.skip(4 + 4);
            }
        }
    }

    private static boolean exchangeId(XdrCursor in) throws MalformedMessageException {
        in.skip(8 + 4 + 4);
        switch (in.int32()) {
            case PROTECT_NONE -> {}
            case PROTECT_MACH_CRED -> {
                bitmap(in);
                bitmap(in);
            }
            case PROTECT_SSV -> {
                bitmap(in);
                bitmap(in);
                in.skip(4 * 4);
                opaques(in);
            }
            default -> {
                return false;
            }
        }
        in.skip(8);
        in.opaque(OPAQUE_LIMIT);
        in.opaque(OPAQUE_LIMIT);
        implementation(in);
        return true;
    }

    private static void directoryDelegation(XdrCursor in) throws MalformedMessageException {
        if (in.int32() == DIRECTORY_DELEGATED) {
            in.skip(VERIFIER + STATEID);
            bitmap(in);
            bitmap(in);
            bitmap(in);
        } else {
            in.skip(4);
        }
    }

    /** {@code write_response4}. */
    private static void writeResponse(XdrCursor in) throws MalformedMessageException {
        in.array(STATEID);
        in.skip(8 + 4 + VERIFIER);
    }

    /** Not eligible, although file data (RFC 8267, 6.1): the requester cannot know the segments in advance. */
    private static boolean contents(XdrCursor in) throws MalformedMessageException {
        in.skip(4);
        for (int left = in.count(4); left > 0; left--) {
            switch (in.int32()) {
                case CONTENT_DATA -> {
                    in.skip(8);
                    in.opaque(UNBOUNDED);
                }
                case CONTENT_HOLE -> in.skip(8 + 8);
                default -> {
                    return false;
                }
            }
        }
        return true;
    }
}
