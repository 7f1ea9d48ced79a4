// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

/** The procedures of NFSv3, in the order of their numbers (RFC 1813, 3.3). */
enum Nfsproc3 {
    NULL,
    GETATTR,
    SETATTR,
    LOOKUP,
    ACCESS,
    READLINK,
    READ,
    WRITE,
    CREATE,
    MKDIR,
    SYMLINK,
    MKNOD,
    REMOVE,
    RMDIR,
    RENAME,
    LINK,
    READDIR,
    READDIRPLUS,
    FSSTAT,
    FSINFO,
    PATHCONF,
    COMMIT;

    @SuppressWarnings("EnumOrdinal") // the order is that of the numbers
    int number() {
        return ordinal();
    }
}
