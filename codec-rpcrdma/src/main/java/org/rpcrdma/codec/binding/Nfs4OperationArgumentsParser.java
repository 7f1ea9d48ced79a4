// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import static org.rpcrdma.codec.binding.Nfs4OperationNumbers.*;
import static org.rpcrdma.codec.binding.Nfs4XdrTypes.*;

/** Parses the arguments of one operation of a COMPOUND and records the eligible ones (RFC 8267, 6.1). */
final class Nfs4OperationArgumentsParser {

    private static final int BLOCK_DEVICE = 3;
    private static final int CHARACTER_DEVICE = 4;
    private static final int LINK_TYPE = 5;

    private static final int OPEN_CREATE = 1;
    private static final int UNCHECKED = 0;
    private static final int GUARDED = 1;
    private static final int EXCLUSIVE = 2;
    private static final int EXCLUSIVE_4_1 = 3;

    private static final int CLAIM_NULL = 0;
    private static final int CLAIM_PREVIOUS = 1;
    private static final int CLAIM_DELEGATE_CUR = 2;
    private static final int CLAIM_DELEGATE_PREV = 3;
    private static final int CLAIM_FH = 4;
    private static final int CLAIM_DELEG_CUR_FH = 5;
    private static final int CLAIM_DELEG_PREV_FH = 6;

    private static final int PROTECT_NONE = 0;
    private static final int PROTECT_MACH_CRED = 1;
    private static final int PROTECT_SSV = 2;

    private static final int RETURN_FILE = 1;

    private static final int AUTH_NONE = 0;
    private static final int AUTH_SYS = 1;
    private static final int RPCSEC_GSS = 6;

    private Nfs4OperationArgumentsParser() {}

    /**
     * Parses the arguments of an operation.
     *
     * @param in after the operation's number
     * @return {@code false} for an operation, or an arm of a union, that is not known: what follows cannot be found
     */
    static boolean skip(int operation, XdrCursor in) throws MalformedMessageException {
        switch (operation) {
            case GETFH, LOOKUPP, PUTPUBFH, PUTROOTFH, READLINK, RESTOREFH, SAVEFH, ILLEGAL -> {
                return true;
            }
            case ACCESS, OPENATTR, SECINFO_NO_NAME, RECLAIM_COMPLETE -> in.skip(4);
            case DELEGPURGE, RENEW, DESTROY_CLIENTID -> in.skip(8);
            case COMMIT, LISTXATTRS -> in.skip(8 + 4);
            case DELEGRETURN, FREE_STATEID, OFFLOAD_CANCEL, OFFLOAD_STATUS -> in.skip(STATEID);
            case SETCLIENTID_CONFIRM -> in.skip(8 + VERIFIER);
            case DESTROY_SESSION -> in.skip(16);
            case CLOSE, OPEN_CONFIRM -> in.skip(STATEID + 4);
            case BIND_CONN_TO_SESSION -> in.skip(16 + 4 + 4);
            case GETDEVICELIST -> in.skip(4 + 4 + 8 + VERIFIER);
            case OPEN_DOWNGRADE -> in.skip(STATEID + 3 * 4);
            case READ, READ_PLUS, SEEK -> in.skip(STATEID + 8 + 4);
            case ALLOCATE, DEALLOCATE -> in.skip(STATEID + 8 + 8);
            case SEQUENCE -> in.skip(16 + 4 * 4);
            case LOCKU -> in.skip(4 + 4 + STATEID + 8 + 8);
            case LAYOUTGET -> in.skip(3 * 4 + 3 * 8 + STATEID + 4);
            case CLONE -> in.skip(2 * STATEID + 3 * 8);
            case GETATTR -> bitmap(in);
            case LOOKUP, LINK, REMOVE, SECINFO, GETXATTR, REMOVEXATTR -> string(in);
            case RENAME -> {
                string(in);
                string(in);
            }
            case PUTFH -> in.opaque(FHSIZE);
            case NVERIFY, VERIFY -> attributes(in);
            case SETATTR -> {
                in.skip(STATEID);
                attributes(in);
            }
            case READDIR -> {
                in.skip(8 + VERIFIER + 4 + 4);
                bitmap(in);
            }
            case WRITE -> {
                in.skip(STATEID + 8 + 4);
                eligible(in);
            }
            case CREATE -> create(in);
            case LOCK -> lock(in);
            case LOCKT -> {
                in.skip(4 + 8 + 8);
                owner(in);
            }
            case RELEASE_LOCKOWNER -> owner(in);
            case OPEN -> {
                return open(in);
            }
            case SETCLIENTID -> {
                in.skip(VERIFIER);
                in.opaque(OPAQUE_LIMIT);
                in.skip(4);
                string(in);
                string(in);
                in.skip(4);
            }
            case BACKCHANNEL_CTL -> {
                in.skip(4);
                return callbackSecurity(in);
            }
            case EXCHANGE_ID -> {
                return exchangeId(in);
            }
            case CREATE_SESSION -> {
                in.skip(8 + 4 + 4);
                channelAttributes(in);
                channelAttributes(in);
                in.skip(4);
                return callbackSecurity(in);
            }
            case WANT_DELEGATION -> {
                in.skip(4);
                return claimOfDelegation(in);
            }
            case GET_DIR_DELEGATION -> {
                in.skip(4);
                bitmap(in);
                in.skip(2 * TIME);
                bitmap(in);
                bitmap(in);
            }
            case GETDEVICEINFO -> {
                in.skip(16 + 4 + 4);
                bitmap(in);
            }
            case LAYOUTCOMMIT -> {
                in.skip(8 + 8 + 4 + STATEID);
                in.optional(8);
                in.optional(TIME);
                in.skip(4);
                in.opaque(UNBOUNDED);
            }
            case LAYOUTRETURN -> {
                in.skip(3 * 4);
                if (in.int32() == RETURN_FILE) {
                    in.skip(8 + 8 + STATEID);
                    in.opaque(UNBOUNDED);
                }
            }
            case SET_SSV -> {
                in.opaque(UNBOUNDED);
                in.opaque(UNBOUNDED);
            }
            case TEST_STATEID -> in.array(STATEID);
            case COPY -> {
                in.skip(2 * STATEID + 3 * 8 + 4 + 4);
                return netlocs(in);
            }
            case COPY_NOTIFY -> {
                in.skip(STATEID);
                return netloc(in);
            }
            case IO_ADVISE -> {
                in.skip(STATEID + 8 + 8);
                bitmap(in);
            }
            case LAYOUTERROR -> {
                in.skip(8 + 8 + STATEID);
                in.array(16 + 4 + 4);
            }
            case LAYOUTSTATS -> {
                in.skip(8 + 8 + STATEID + 16 + 16 + 16 + 4);
                in.opaque(UNBOUNDED);
            }
            case WRITE_SAME -> {
                in.skip(STATEID + 4 + 4 * 8 + 4 + 8);
                in.opaque(UNBOUNDED);
            }
            case SETXATTR -> {
                in.skip(4);
                string(in);
                in.opaque(UNBOUNDED);
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static void create(XdrCursor in) throws MalformedMessageException {
        switch (in.int32()) {
            case LINK_TYPE -> eligible(in);
            case BLOCK_DEVICE, CHARACTER_DEVICE -> in.skip(4 + 4);
            default -> {
                // All others, including unknown ones, have no arguments.
            }
        }
        string(in);
        attributes(in);
    }

    private static void lock(XdrCursor in) throws MalformedMessageException {
        in.skip(4 + 4 + 8 + 8);
        if (in.bool()) {
            in.skip(4 + STATEID + 4);
            owner(in);
        } else {
            in.skip(STATEID + 4);
        }
    }

    private static boolean open(XdrCursor in) throws MalformedMessageException {
        in.skip(4 + 4 + 4);
        owner(in);
        if (in.int32() == OPEN_CREATE) {
            switch (in.int32()) {
                case UNCHECKED, GUARDED -> attributes(in);
                case EXCLUSIVE -> in.skip(VERIFIER);
                case EXCLUSIVE_4_1 -> {
                    in.skip(VERIFIER);
                    attributes(in);
                }
                default -> {
                    return false;
                }
            }
        }
        switch (in.int32()) {
            case CLAIM_NULL, CLAIM_DELEGATE_PREV -> string(in);
            case CLAIM_PREVIOUS -> in.skip(4);
            case CLAIM_DELEGATE_CUR -> {
                in.skip(STATEID);
                string(in);
            }
            case CLAIM_DELEG_CUR_FH -> in.skip(STATEID);
            case CLAIM_FH, CLAIM_DELEG_PREV_FH -> {
                return true;
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static boolean claimOfDelegation(XdrCursor in) throws MalformedMessageException {
        switch (in.int32()) {
            case CLAIM_PREVIOUS -> in.skip(4);
            case CLAIM_FH, CLAIM_DELEG_PREV_FH -> {
                return true;
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static boolean exchangeId(XdrCursor in) throws MalformedMessageException {
        in.skip(VERIFIER);
        in.opaque(OPAQUE_LIMIT);
        in.skip(4);
        switch (in.int32()) {
            case PROTECT_NONE -> {}
            case PROTECT_MACH_CRED -> {
                bitmap(in);
                bitmap(in);
            }
            case PROTECT_SSV -> {
                bitmap(in);
                bitmap(in);
                opaques(in);
                opaques(in);
                in.skip(4 + 4);
            }
            default -> {
                return false;
            }
        }
        implementation(in);
        return true;
    }

    private static boolean callbackSecurity(XdrCursor in) throws MalformedMessageException {
        for (int left = in.count(4); left > 0; left--) {
            switch (in.int32()) {
                case AUTH_NONE -> {}
                case AUTH_SYS -> {
                    in.skip(4);
                    string(in);
                    in.skip(4 + 4);
                    in.array(4);
                }
                case RPCSEC_GSS -> {
                    in.skip(4);
                    in.opaque(UNBOUNDED);
                    in.opaque(UNBOUNDED);
                }
                default -> {
                    return false;
                }
            }
        }
        return true;
    }
}
