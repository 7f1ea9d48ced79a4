// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileLocks;

/**
 * The NFSv3 procedures (RFC 1813, 3.3) on an {@link Export}, by groups. They throw what {@link
 * org.rpcrdma.examples.export.FailureStatus} makes a status of. Thread-safe, blocking.
 */
record Nfs3Service(
        Nfs3Attributes attributes,
        Nfs3Names names,
        Nfs3Creation creation,
        Nfs3Data data,
        Nfs3Directories directories) {

    /**
     * @param locks of this export
     * @param directoryMax bytes that one READDIR or READDIRPLUS may have when the client asks for so many, if that is
     *     more than usual
     */
    static Nfs3Service of(Export export, FileLocks locks, Caller.Policy policy, int directoryMax) {
        Nfs3Files files = new Nfs3Files(export, locks);
        return new Nfs3Service(
                new Nfs3Attributes(files, policy),
                new Nfs3Names(files),
                new Nfs3Creation(files),
                new Nfs3Data(files),
                new Nfs3Directories(export, directoryMax));
    }
}
