// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.nfs.nfs3.FileHandle;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.READDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.READDIRPLUS3Request;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.nfs.nfs3.response.READDIR3Response;
import org.apache.hadoop.nfs.nfs3.response.READDIR3Response.DirList3;
import org.apache.hadoop.nfs.nfs3.response.READDIR3Response.Entry3;
import org.apache.hadoop.nfs.nfs3.response.READDIRPLUS3Response;
import org.apache.hadoop.nfs.nfs3.response.READDIRPLUS3Response.DirListPlus3;
import org.apache.hadoop.nfs.nfs3.response.READDIRPLUS3Response.EntryPlus3;
import org.rpcrdma.examples.export.DirectoryReader;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.UnixAttributes;

/** READDIR and READDIRPLUS (RFC 1813, 3.3.16 and 3.3.17). */
final class Nfs3Directories {

    /** The most bytes in one READDIR, and what clients are told to ask for. */
    static final int TRANSFER = 64 << 10;

    /** Status, directory attributes, cookie verifier, end of list, end of directory. */
    private static final int OVERHEAD = 4 + 4 + UnixAttributes.WIRE_LENGTH + 8 + 4 + 4;

    /** Entry follows, file id, length of name, cookie. */
    private static final int ENTRY_OVERHEAD = 4 + 8 + 4 + 8;

    /** ... and attributes and handle, each with a word in front, and the length of the handle. */
    private static final int ENTRY_PLUS_OVERHEAD =
            ENTRY_OVERHEAD + 4 + UnixAttributes.WIRE_LENGTH + 4 + 4 + 32;

    private final Nfs3Files files;
    private final int bytesMax;
    private final DirectoryReader reader = new DirectoryReader();

    /** @param bytesMax that one reply may have when the client asks for so many, if that is more than usual */
    Nfs3Directories(Nfs3Files files, int bytesMax) {
        this.files = files;
        this.bytesMax = bytesMax;
    }

    private interface EntryConsumer {
        /** @param directory that the name is in, {@code null} for {@code .} and {@code ..} */
        void accept(Located directory, String name, long cookie, UnixAttributes attributes);
    }

    NFS3Response readdir(Nfs3Call call) throws IOException {
        READDIR3Request request = READDIR3Request.deserialize(call.in());
        try (Located directory = locate(request.getHandle(), call)) {
            List<Entry3> entries = new ArrayList<>();
            long limit = Math.max(TRANSFER, bytesMax);
            DirectoryPage page =
                    new DirectoryPage(OVERHEAD, ENTRY_OVERHEAD, request.getCount(), limit);
            boolean isComplete =
                    eachEntry(
                            directory,
                            request.getCookie(),
                            page,
                            (parent, name, cookie, attributes) ->
                                    entries.add(new Entry3(attributes.getFileId(), name, cookie)));
            DirList3 list = new DirList3(entries.toArray(new Entry3[0]), isComplete);
            return new READDIR3Response(Nfs3Status.NFS3_OK, directory.currentAttributes(), 0, list);
        }
    }

    NFS3Response readdirplus(Nfs3Call call) throws IOException {
        READDIRPLUS3Request request = READDIRPLUS3Request.deserialize(call.in());
        try (Located directory = locate(request.getHandle(), call)) {
            List<EntryPlus3> entries = new ArrayList<>();
            long wanted = Integer.toUnsignedLong(request.getMaxCount());
            long limit = Math.max(Nfs3Data.TRANSFER_MAX, bytesMax);
            DirectoryPage page = new DirectoryPage(OVERHEAD, ENTRY_PLUS_OVERHEAD, wanted, limit);
            boolean isComplete =
                    eachEntry(
                            directory,
                            request.getCookie(),
                            page,
                            (parent, name, cookie, attributes) ->
                                    entries.add(
                                            new EntryPlus3(
                                                    attributes.getFileId(),
                                                    name,
                                                    cookie,
                                                    attributes,
                                                    handle(parent, name, attributes))));
            DirListPlus3 list = new DirListPlus3(entries.toArray(new EntryPlus3[0]), isComplete);
            return new READDIRPLUS3Response(
                    Nfs3Status.NFS3_OK, directory.currentAttributes(), 0, list);
        }
    }

    private FileHandle handle(Located parent, String name, UnixAttributes attributes) {
        return parent == null
                ? files.export().handle(attributes)
                : files.export().handle(parent.key(), name, attributes);
    }

    private Located locate(FileHandle handle, Nfs3Call call) throws IOException {
        Located directory = files.export().locate(handle).requireDirectory();
        try {
            call.caller().require(Caller.READ, directory.attributes());
            return directory;
        } catch (NfsException e) {
            directory.close();
            throw e;
        }
    }

    /**
     * Passes entries on until the page is full.
     *
     * @return whether these were the last
     */
    private boolean eachEntry(
            Located directory, long cookie, DirectoryPage page, EntryConsumer consumer)
            throws IOException {
        if (cookie < DirectoryReader.COOKIE_SELF) {
            if (!page.add(".")) {
                return false;
            }
            consumer.accept(null, ".", DirectoryReader.COOKIE_SELF, directory.attributes());
        }
        if (cookie < DirectoryReader.COOKIE_PARENT) {
            if (!page.add("..")) {
                return false;
            }
            try (Located parent = files.export().locateParent(directory)) {
                consumer.accept(null, "..", DirectoryReader.COOKIE_PARENT, parent.attributes());
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
                if (!page.add(entry.name())) {
                    return false;
                }
                consumer.accept(directory, entry.name(), entry.cookie(), attributes);
            }
        }
        return true;
    }
}
