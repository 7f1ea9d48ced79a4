// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.UnixAttributes;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** The entries of one reply to READDIR or READDIRPLUS, as many as fit (RFC 1813, 3.3.16 and 3.3.17). */
final class DirectoryPage {

    /** Status, directory attributes, cookie verifier, end of list, end of directory. */
    private static final int OVERHEAD = 4 + 4 + UnixAttributes.WIRE_LENGTH + 8 + 4 + 4;

    private final ByteBuf entries = Unpooled.buffer();
    private final XdrWriter out = new XdrWriter(entries);
    private final long limit;

    /** @param limit the most bytes of the results */
    DirectoryPage(long limit) {
        this.limit = limit - OVERHEAD;
    }

    /**
     * Adds an entry, if there is room for it.
     *
     * @param handle {@code null} for READDIR, which shows neither handles nor attributes
     * @return whether there was any
     * @throws NfsException NFS3ERR_TOOSMALL if there is not even room for one
     */
    boolean add(String name, long cookie, UnixAttributes attributes, NfsHandle handle)
            throws NfsException {
        int end = entries.writerIndex();
        out.writeBoolean(true).writeLong(attributes.fileId()).writeString(name).writeLong(cookie);
        if (handle != null) {
            out.write(attributes.optional()).writeBoolean(true).write(handle);
        }
        if (entries.writerIndex() <= limit) {
            return true;
        } else if (end == 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_TOOSMALL, "room for " + limit + " bytes");
        }
        entries.writerIndex(end);
        return false;
    }

    ByteBuf entries() {
        return entries;
    }
}
