// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/** Parses types shared by arguments and results of NFS version 4 operations (RFC 7531, RFC 5662, RFC 7863). */
final class Nfs4XdrTypes {

    static final int VERIFIER = 8;
    static final int STATEID = 16;
    static final int TIME = 12;
    static final int CHANGE_INFO = 4 + 8 + 8;
    static final int FHSIZE = 128;
    static final int OPAQUE_LIMIT = 1024;

    /** Limit of counts that the protocol does not bound; greater ones would overflow 32-bit arithmetic. */
    static final int UNBOUNDED = Integer.MAX_VALUE - 3;

    /**
     * The most eligible items of one COMPOUND (RFC 8166, 6.1: a binding may limit the number of chunks). Servers take
     * far fewer operations; it bounds what a peer can make a walk remember. Items after these are not eligible.
     */
    static final int MAXIMUM_ITEMS = 256;

    private static final int NETLOC_NAME = 1;
    private static final int NETLOC_URL = 2;
    private static final int NETLOC_NETADDR = 3;

    private Nfs4XdrTypes() {}

    static void eligible(XdrCursor in) throws MalformedMessageException {
        if (in.items() < MAXIMUM_ITEMS) {
            in.eligibleOpaque(UNBOUNDED);
        } else {
            in.opaque(UNBOUNDED);
        }
    }

    static void string(XdrCursor in) throws MalformedMessageException {
        in.opaque(UNBOUNDED);
    }

    static void bitmap(XdrCursor in) throws MalformedMessageException {
        in.array(4);
    }

    /** {@code fattr4}: which attributes, and all of their values as one opaque. */
    static void attributes(XdrCursor in) throws MalformedMessageException {
        bitmap(in);
        in.opaque(UNBOUNDED);
    }

    /** {@code state_owner4}. */
    static void owner(XdrCursor in) throws MalformedMessageException {
        in.skip(8);
        in.opaque(OPAQUE_LIMIT);
    }

    static void opaques(XdrCursor in) throws MalformedMessageException {
        for (int left = in.count(4); left > 0; left--) {
            in.opaque(UNBOUNDED);
        }
    }

    /** {@code channel_attrs4}. */
    static void channelAttributes(XdrCursor in) throws MalformedMessageException {
        in.skip(6 * 4);
        in.array(4);
    }

    /** {@code nfs_impl_id4<1>}. */
    static void implementation(XdrCursor in) throws MalformedMessageException {
        for (int left = in.count(4 + 4 + TIME); left > 0; left--) {
            string(in);
            string(in);
            in.skip(TIME);
        }
    }

    /** {@code netloc4}; {@code false} for a type that is not known. */
    static boolean netloc(XdrCursor in) throws MalformedMessageException {
        switch (in.int32()) {
            case NETLOC_NAME, NETLOC_URL -> string(in);
            case NETLOC_NETADDR -> {
                string(in);
                string(in);
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    static boolean netlocs(XdrCursor in) throws MalformedMessageException {
        for (int left = in.count(4); left > 0; left--) {
            if (!netloc(in)) {
                return false;
            }
        }
        return true;
    }
}
