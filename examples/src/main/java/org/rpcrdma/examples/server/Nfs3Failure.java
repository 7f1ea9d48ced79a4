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

    private final int absentAttributes;

    /** @param absentAttributes how many optional attributes the failed result has (RFC 1813, 3.3) */
    Nfs3Failure(int status, int absentAttributes) {
        super(status);
        this.absentAttributes = absentAttributes;
    }

    @Override
    public XDR serialize(XDR out, int xid, Verifier verifier) {
        super.serialize(out, xid, verifier);
        for (int i = 0; i < absentAttributes; i++) {
            out.writeBoolean(false);
        }
        return out;
    }
}
