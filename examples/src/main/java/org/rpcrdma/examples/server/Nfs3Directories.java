// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.file.FileSystemException;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.export.DirectoryReader;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.UnixAttributes;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** READDIR and READDIRPLUS (RFC 1813, 3.3.16 and 3.3.17). */
final class Nfs3Directories {

    /** The most bytes in one READDIR, and what clients are told to ask for. */
    static final int TRANSFER = 64 << 10;

    private static final int VERIFIER_LENGTH = 8;

    private final Export export;
    private final int bytesMax;
    private final DirectoryReader reader = new DirectoryReader();

    /** @param bytesMax that one reply may have when the client asks for so many, if that is more than usual */
    Nfs3Directories(Export export, int bytesMax) {
        this.export = export;
        this.bytesMax = bytesMax;
    }

    XdrEncodable readdir(Nfs3Call call) throws IOException {
        return list(call, /* plus= */ false);
    }

    XdrEncodable readdirplus(Nfs3Call call) throws IOException {
        return list(call, /* plus= */ true);
    }

    private XdrEncodable list(Nfs3Call call, boolean plus) throws IOException {
        NfsHandle handle = call.readHandle();
        long cookie = call.in().readLong();
        if (cookie < 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_BAD_COOKIE, "a cookie of 2^63 or more");
        }
        call.in().skip(plus ? VERIFIER_LENGTH + 4 : VERIFIER_LENGTH); // dircount is a hint
        long wanted = call.in().readUnsignedInt();
        long limit = Math.max(plus ? Nfs3Data.TRANSFER_MAX : TRANSFER, bytesMax);
        try (Located directory = export.locate(handle).requireDirectory()) {
            call.caller().require(Caller.READ, directory.attributes());
            DirectoryPage page = new DirectoryPage(Math.min(wanted, limit));
            boolean isComplete = fill(page, directory, cookie, plus);
            UnixAttributes after = directory.currentAttributes();
            return out -> {
                out.write(after.optional()).writeLong(0);
                out.buffer().writeBytes(page.entries());
                out.writeBoolean(false).writeBoolean(isComplete);
            };
        }
    }

    /** Returns whether all entries behind the cookie have had room. */
    private boolean fill(DirectoryPage page, Located directory, long cookie, boolean plus)
            throws IOException {
        if (cookie < DirectoryReader.COOKIE_SELF
                && !addOwn(page, ".", DirectoryReader.COOKIE_SELF, directory, plus)) {
            return false;
        }
        if (cookie < DirectoryReader.COOKIE_PARENT) {
            try (Located parent = export.locateParent(directory)) {
                if (!addOwn(page, "..", DirectoryReader.COOKIE_PARENT, parent, plus)) {
                    return false;
                }
            }
        }
        for (DirectoryReader.Entry entry : reader.entriesAfter(directory, cookie)) {
            UnixAttributes attributes;
            try {
                attributes = directory.childAttributes(entry.name());
            } catch (FileSystemException | NfsException e) {
                continue;
            }
            if (attributes != null) {
                NfsHandle handle =
                        plus ? export.handle(directory.key(), entry.name(), attributes) : null;
                if (!page.add(entry.name(), entry.cookie(), attributes, handle)) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean addOwn(
            DirectoryPage page, String name, long cookie, Located directory, boolean plus)
            throws IOException {
        NfsHandle handle = plus ? export.handle(directory) : null;
        return page.add(name, cookie, directory.attributes(), handle);
    }
}
