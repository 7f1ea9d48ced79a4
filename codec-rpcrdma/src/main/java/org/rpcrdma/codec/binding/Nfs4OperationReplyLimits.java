// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import static org.rpcrdma.codec.binding.Nfs4OperationNumbers.*;
import static org.rpcrdma.codec.binding.Nfs4XdrTypes.*;

/** The longest results of one operation of a COMPOUND, judged by its arguments (RFC 8166, 6.2; RFC 8267, 6.2). */
final class Nfs4OperationReplyLimits {

    /** The protocol does not bound link text; this is the limit of current servers. */
    private static final int PATH_MAX = 4096;

    /** {@code user@dns_domain}: a domain name has at most 255 bytes; as much is allowed for the user. */
    static final int PRINCIPAL = 4 + 512;

    /** Eight words of attribute numbers; three are in use. */
    static final int BITMAP = 4 + 8 * 4;

    private static final int DELEGATION = 4 + STATEID + 4 + 12 + 12 + PRINCIPAL;

    /** A denied lock returns the owner of the conflicting lock. */
    private static final int DENIED = 8 + 8 + 4 + 8 + 4 + OPAQUE_LIMIT;

    /** Far more flavors than there are, each as large as one of RPCSEC_GSS. */
    private static final int SECURITY = 4 + 32 * (4 + 4 + 64 + 4 + 4);

    private static final int IMPLEMENTATION = 4 + 2 * (4 + OPAQUE_LIMIT) + TIME;

    private static final int CHANNEL = 6 * 4 + 4 + 4;

    /** Netid and universal address. */
    private static final int ADDRESS = 2 * (4 + 256);

    private static final int WRITE_RESPONSE = 4 + STATEID + 8 + 4 + VERIFIER;

    /** Segment descriptions of READ_PLUS; unbounded by the protocol, but servers return few at once. */
    private static final int SEGMENTS = 4096;

    private static final int PROTECT_MACH_CRED = 1;
    private static final int PROTECT_SSV = 2;

    private Nfs4OperationReplyLimits() {}

    /**
     * Adds the results after the status of an operation.
     *
     * @param in at the arguments; left there
     * @param offersSinks whether READ may still take a Write chunk
     */
    static void add(int operation, XdrCursor in, ReplyLimits limits, boolean offersSinks)
            throws MalformedMessageException {
        int fixed = Nfs4ResultWalker.fixedBytes(operation);
        if (fixed != Nfs4ResultWalker.VARIABLE) {
            limits.results(fixed);
            return;
        }
        int mark = in.mark();
        switch (operation) {
            case READ -> read(in, limits, offersSinks);
            // No sink, as in version 3: a Linux server misplaces the text.
            case READLINK -> limits.results(4 + PATH_MAX);
            case GETATTR -> Nfs4AttributeSizeLimits.limit(in, limits);
            case GETFH -> limits.results(4 + FHSIZE);
            case READDIR -> {
                in.skip(
                        8 + VERIFIER
                                + 4); // dircount bounds names only; maxcount bounds the results
                limits.results(VERIFIER + 4 + 4 + in.uint32());
            }
            case READ_PLUS -> {
                in.skip(STATEID + 8);
                limits.results(4 + 4 + SEGMENTS + in.uint32());
            }
            case LISTXATTRS -> {
                in.skip(8);
                limits.results(8 + 4 + 4 + in.uint32());
            }
            case GETDEVICEINFO -> {
                in.skip(16 + 4);
                limits.results(4 + 4 + BITMAP + in.uint32());
            }
            case LAYOUTGET -> {
                in.skip(3 * 4 + 3 * 8 + STATEID);
                limits.results(4 + STATEID + 4 + 8 + 8 + 4 + 4 + 4 + in.uint32());
            }
            case TEST_STATEID -> limits.results(4 + 4L * in.count(STATEID));
            case CREATE -> limits.results(CHANGE_INFO + BITMAP);
            case SETATTR, IO_ADVISE -> limits.results(BITMAP);
            case OPEN -> limits.results(STATEID + CHANGE_INFO + 4 + BITMAP + DELEGATION);
            case WANT_DELEGATION -> limits.results(DELEGATION);
            case LOCK, LOCKT -> limits.results(DENIED);
            case SECINFO, SECINFO_NO_NAME -> limits.results(SECURITY);
            case SETCLIENTID -> limits.results(ADDRESS);
            case EXCHANGE_ID -> exchangeId(in, limits);
            case CREATE_SESSION -> limits.results(16 + 4 + 4 + 2 * CHANNEL);
            case GET_DIR_DELEGATION -> limits.results(4 + VERIFIER + STATEID + 3 * BITMAP);
            case LAYOUTCOMMIT -> limits.results(4 + 8);
            case LAYOUTRETURN -> limits.results(4 + STATEID);
            case SET_SSV -> limits.results(4 + OPAQUE_LIMIT);
            case WRITE_SAME -> limits.results(WRITE_RESPONSE);
            case COPY -> limits.results(WRITE_RESPONSE + 4 + 4);
            case OFFLOAD_STATUS -> limits.results(8 + 4 + 4);
            // GETXATTR, GETDEVICELIST, COPY_NOTIFY, and operations that are not known.
            default -> limits.unbounded();
        }
        in.reset(mark);
    }

    private static void read(XdrCursor in, ReplyLimits limits, boolean offersSinks)
            throws MalformedMessageException {
        in.skip(STATEID + 8);
        long count = in.uint32();
        limits.results(4 + 4);
        if (offersSinks && limits.sinks() < MAXIMUM_ITEMS) {
            limits.sink(count);
        } else {
            limits.results((count + 3) & ~3L);
        }
    }

    private static void exchangeId(XdrCursor in, ReplyLimits limits)
            throws MalformedMessageException {
        in.skip(VERIFIER);
        in.opaque(OPAQUE_LIMIT);
        in.skip(4);
        int how = in.int32();
        limits.results(8 + 4 + 4 + 4 + 8 + 2 * (4 + OPAQUE_LIMIT) + IMPLEMENTATION);
        if (how == PROTECT_MACH_CRED) {
            limits.results(2 * BITMAP);
        } else if (how == PROTECT_SSV) {
            limits.unbounded(); // any number of handles
        }
    }
}
