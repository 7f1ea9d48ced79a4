// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.nio.charset.StandardCharsets;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.rpcrdma.examples.export.NfsException;

/** How many entries fit into one reply to READDIR or READDIRPLUS (RFC 1813, 3.3.16 and 3.3.17). */
final class DirectoryPage {

    private final int overhead;
    private final int entryOverhead;
    private final long limit;
    private long used;

    /**
     * @param overhead bytes of a reply without entries
     * @param entryOverhead bytes of an entry without its name
     * @param wanted the most bytes that the client takes
     * @param limit the most bytes that the server sends
     */
    DirectoryPage(int overhead, int entryOverhead, long wanted, long limit) {
        this.overhead = overhead;
        this.entryOverhead = entryOverhead;
        this.limit = wanted < 0 ? limit : Math.min(wanted, limit);
        used = overhead;
    }

    /**
     * Takes the room for an entry.
     *
     * @return whether there was any
     * @throws NfsException NFS3ERR_TOOSMALL if there is not even room for one
     */
    boolean add(String name) throws NfsException {
        int length = name.getBytes(StandardCharsets.UTF_8).length;
        used += entryOverhead + (length + 3 & ~3);
        if (used <= limit) {
            return true;
        }
        if (used == overhead + entryOverhead + (length + 3 & ~3)) {
            throw new NfsException(Nfs3Status.NFS3ERR_TOOSMALL, "room for " + limit + " bytes");
        }
        return false;
    }
}
