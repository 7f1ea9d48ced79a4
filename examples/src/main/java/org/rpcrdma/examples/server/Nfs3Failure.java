// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.oncrpc.XDR;
import org.apache.hadoop.oncrpc.security.Verifier;

/**
 * The result of a procedure that failed: its status and no attributes. Hadoop's classes send attributes full of zeros
 * there, and a client believes them.
 */
final class Nfs3Failure extends NFS3Response {

    /** How many optional attributes each failed result has, by procedure number (RFC 1813, 3.3). */
    private static final int[] ABSENT_ATTRIBUTES = {
        0, 0, 2, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 4, 3, 1, 1, 1, 1, 1, 2
    };

    private final int procedure;

    Nfs3Failure(int procedure, int status) {
        super(status);
        this.procedure = procedure;
    }

    @Override
    public XDR serialize(XDR out, int xid, Verifier verifier) {
        super.serialize(out, xid, verifier);
        for (int i = 0; i < ABSENT_ATTRIBUTES[procedure]; i++) {
            out.writeBoolean(false);
        }
        return out;
    }
}
