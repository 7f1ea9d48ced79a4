// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import org.apache.hadoop.nfs.nfs3.Nfs3FileAttributes;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.nfs.nfs3.response.WccData;
import org.apache.hadoop.oncrpc.XDR;
import org.apache.hadoop.oncrpc.security.Verifier;

/** LINK3resok (RFC 1813, 3.3.15). Hadoop's class writes {@code wcc_data} for the file, where its attributes belong. */
final class LinkResponse extends NFS3Response {

    private final Nfs3FileAttributes file;
    private final WccData directory;

    LinkResponse(Nfs3FileAttributes file, WccData directory) {
        super(Nfs3Status.NFS3_OK);
        this.file = file;
        this.directory = directory;
    }

    @Override
    public XDR serialize(XDR out, int xid, Verifier verifier) {
        super.serialize(out, xid, verifier);
        out.writeBoolean(true);
        file.serialize(out);
        directory.serialize(out);
        return out;
    }
}
