// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.nfs.NfsTime;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.ACCESS3Request;
import org.apache.hadoop.nfs.nfs3.request.FSINFO3Request;
import org.apache.hadoop.nfs.nfs3.request.FSSTAT3Request;
import org.apache.hadoop.nfs.nfs3.request.GETATTR3Request;
import org.apache.hadoop.nfs.nfs3.request.PATHCONF3Request;
import org.apache.hadoop.nfs.nfs3.request.SETATTR3Request;
import org.apache.hadoop.nfs.nfs3.request.SetAttr3.SetAttrField;
import org.apache.hadoop.nfs.nfs3.response.ACCESS3Response;
import org.apache.hadoop.nfs.nfs3.response.FSINFO3Response;
import org.apache.hadoop.nfs.nfs3.response.FSSTAT3Response;
import org.apache.hadoop.nfs.nfs3.response.GETATTR3Response;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.nfs.nfs3.response.PATHCONF3Response;
import org.apache.hadoop.nfs.nfs3.response.SETATTR3Response;
import org.apache.hadoop.nfs.nfs3.response.WccData;
import org.apache.hadoop.oncrpc.XDR;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.OpenFile;
import org.rpcrdma.examples.export.UnixAttributes;

/** The attributes of files and of the file system (RFC 1813, 3.3.1, 3.3.2, 3.3.4 and 3.3.18 to 3.3.20). */
final class Nfs3Attributes {

    private static final int LINK_MAX = 32000;
    private static final int NAME_MAX = 255;
    private static final int MULTIPLE = 4096;
    private static final int PROPERTIES =
            Nfs3Constant.FSF3_LINK
                    | Nfs3Constant.FSF3_SYMLINK
                    | Nfs3Constant.FSF3_HOMOGENEOUS
                    | Nfs3Constant.FSF3_CANSETTIME;
    private static final int MODIFYING =
            Nfs3Constant.ACCESS3_MODIFY | Nfs3Constant.ACCESS3_EXTEND | Nfs3Constant.ACCESS3_DELETE;

    private final Nfs3Files files;
    private final Caller.Policy policy;

    Nfs3Attributes(Nfs3Files files, Caller.Policy policy) {
        this.files = files;
        this.policy = policy;
    }

    NFS3Response getattr(Nfs3Call call) throws IOException {
        GETATTR3Request request = GETATTR3Request.deserialize(call.in());
        try (Located file = files.export().locate(request.getHandle())) {
            return new GETATTR3Response(Nfs3Status.NFS3_OK, file.attributes());
        }
    }

    NFS3Response setattr(Nfs3Call call) throws IOException {
        SETATTR3Request request = SETATTR3Request.deserialize(call.in());
        return files.changing(
                request.getHandle(),
                file -> files.locks().withNamesKept(() -> change(file, request, call)));
    }

    private static NFS3Response change(Located file, SETATTR3Request request, Nfs3Call call)
            throws IOException {
        UnixAttributes before = file.currentAttributes();
        if (request.isCheck() && !UnixAttributes.isSame(request.getCtime(), before.getCtime())) {
            throw new NfsException(Nfs3Status.NFS3ERR_NOT_SYNC, "the file has changed");
        }
        AttributeChange change = new AttributeChange(before, request.getAttr(), call.caller());
        change.check();
        boolean hasSize = change.has(SetAttrField.SIZE);
        if (hasSize || (before.isRegularFile() && Files.isReadable(file.path()))) {
            try (OpenFile open =
                    file.open(hasSize ? StandardOpenOption.WRITE : StandardOpenOption.READ)) {
                change.applyTo(open);
            }
        } else {
            change.applyTo(file.path(), LinkOption.NOFOLLOW_LINKS);
        }
        return new SETATTR3Response(
                Nfs3Status.NFS3_OK, new WccData(before.getWccAttr(), file.currentAttributes()));
    }

    NFS3Response access(Nfs3Call call) throws IOException {
        XDR in = call.in();
        ACCESS3Request request = ACCESS3Request.deserialize(in);
        int wanted = in.readInt();
        try (Located file = files.export().locate(request.getHandle())) {
            boolean isDirectory = file.attributes().isDirectory();
            int rights =
                    policy == Caller.Policy.AS_SERVER
                            ? rightsOfServer(file)
                            : call.caller().rights(file.attributes());
            int granted = 0;
            if ((rights & Caller.READ) != 0) {
                granted |= Nfs3Constant.ACCESS3_READ;
            }
            if ((rights & Caller.WRITE) != 0) {
                granted |= Nfs3Constant.ACCESS3_MODIFY | Nfs3Constant.ACCESS3_EXTEND;
                granted |= isDirectory ? Nfs3Constant.ACCESS3_DELETE : 0;
            }
            if ((rights & Caller.EXECUTE) != 0) {
                granted |= isDirectory ? Nfs3Constant.ACCESS3_LOOKUP : Nfs3Constant.ACCESS3_EXECUTE;
            }
            if (files.export().isReadOnly()) {
                granted &= ~MODIFYING;
            }
            return new ACCESS3Response(Nfs3Status.NFS3_OK, file.attributes(), granted & wanted);
        }
    }

    private static int rightsOfServer(Located file) {
        if (file.attributes().isSymbolicLink()) {
            return Caller.READ | Caller.WRITE | Caller.EXECUTE;
        }
        return (Files.isReadable(file.path()) ? Caller.READ : 0)
                | (Files.isWritable(file.path()) ? Caller.WRITE : 0)
                | (Files.isExecutable(file.path()) ? Caller.EXECUTE : 0);
    }

    NFS3Response fsstat(Nfs3Call call) throws IOException {
        FSSTAT3Request request = FSSTAT3Request.deserialize(call.in());
        try (Located file = files.export().locate(request.getHandle())) {
            // Of the export, whatever the file is: Java would follow a symbolic link.
            var store = files.export().fileStore();
            // Java does not know how many files there may be.
            long count = Integer.MAX_VALUE;
            return new FSSTAT3Response(
                    Nfs3Status.NFS3_OK,
                    file.attributes(),
                    store.getTotalSpace(),
                    store.getUnallocatedSpace(),
                    store.getUsableSpace(),
                    count,
                    count,
                    count,
                    0);
        }
    }

    NFS3Response fsinfo(Nfs3Call call) throws IOException {
        FSINFO3Request request = FSINFO3Request.deserialize(call.in());
        try (Located file = files.export().locate(request.getHandle())) {
            return new FSINFO3Response(
                    Nfs3Status.NFS3_OK,
                    file.attributes(),
                    Nfs3Data.TRANSFER_MAX,
                    Nfs3Data.TRANSFER_MAX,
                    MULTIPLE,
                    Nfs3Data.TRANSFER_MAX,
                    Nfs3Data.TRANSFER_MAX,
                    MULTIPLE,
                    Nfs3Directories.TRANSFER,
                    Long.MAX_VALUE,
                    new NfsTime(0, 1),
                    PROPERTIES);
        }
    }

    NFS3Response pathconf(Nfs3Call call) throws IOException {
        PATHCONF3Request request = PATHCONF3Request.deserialize(call.in());
        try (Located file = files.export().locate(request.getHandle())) {
            return new PATHCONF3Response(
                    Nfs3Status.NFS3_OK,
                    file.attributes(),
                    LINK_MAX,
                    NAME_MAX,
                    /* noTrunc= */ true,
                    /* chownRestricted= */ true,
                    /* caseInsensitive= */ false,
                    /* casePreserving= */ true);
        }
    }
}
