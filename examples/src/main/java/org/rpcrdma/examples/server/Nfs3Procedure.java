// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.rpcrdma.examples.export.NfsException;

/**
 * The procedures of NFSv3 but NULL, in the order of their numbers (RFC 1813, 3.3). For each: the fields of its
 * arguments that {@link Arguments} checks, how many optional attributes its failed result has, and what it does.
 * WRITE reads its arguments itself.
 */
enum Nfs3Procedure {
    GETATTR("h", 0, result((service, call) -> service.attributes().getattr(call))),
    SETATTR("ha", 2, result((service, call) -> service.attributes().setattr(call))),
    LOOKUP("hs", 1, result((service, call) -> service.names().lookup(call))),
    ACCESS("h", 1, result((service, call) -> service.attributes().access(call))),
    READLINK("h", 1, result((service, call) -> service.names().readlink(call))),
    READ("h", 1, (service, call) -> service.data().read(call)),
    WRITE("h", 2, result((service, call) -> service.data().write(call))),
    CREATE("hsc", 2, result((service, call) -> service.creation().create(call))),
    MKDIR("hsa", 2, result((service, call) -> service.creation().mkdir(call))),
    SYMLINK("hsas", 2, result((service, call) -> service.creation().symlink(call))),
    MKNOD(
            "hs",
            2,
            result(
                    (service, call) -> {
                        throw new NfsException(
                                Nfs3Status.NFS3ERR_NOTSUPP, "special files are not made");
                    })),
    REMOVE("hs", 2, result((service, call) -> service.names().remove(call))),
    RMDIR("hs", 2, result((service, call) -> service.names().rmdir(call))),
    RENAME("hshs", 4, result((service, call) -> service.names().rename(call))),
    LINK("hhs", 3, result((service, call) -> service.names().link(call))),
    READDIR("h", 1, result((service, call) -> service.directories().readdir(call))),
    READDIRPLUS("h", 1, result((service, call) -> service.directories().readdirplus(call))),
    FSSTAT("h", 1, result((service, call) -> service.attributes().fsstat(call))),
    FSINFO("h", 1, result((service, call) -> service.attributes().fsinfo(call))),
    PATHCONF("h", 1, result((service, call) -> service.attributes().pathconf(call))),
    COMMIT("h", 2, result((service, call) -> service.data().commit(call)));

    /** Makes the whole reply. */
    interface Operation {
        ByteBuf reply(Nfs3Service service, Nfs3Call call) throws IOException;
    }

    private interface ResultOperation {
        NFS3Response result(Nfs3Service service, Nfs3Call call) throws IOException;
    }

    private final String fields;
    private final int absentAttributes;

    @SuppressWarnings("ImmutableEnumChecker") // lambdas without a state
    private final Operation operation;

    Nfs3Procedure(String fields, int absentAttributes, Operation operation) {
        this.fields = fields;
        this.absentAttributes = absentAttributes;
        this.operation = operation;
    }

    private static Operation result(ResultOperation operation) {
        return (service, call) ->
                Nfs3Program.serialize(operation.result(service, call), call.xid());
    }

    /** The number; 0 is NULL, which every program has. */
    @SuppressWarnings("EnumOrdinal") // the order is that of the numbers, and a test holds it
    int number() {
        return ordinal() + 1;
    }

    /** What {@link Arguments} has to find. */
    String fields() {
        return fields;
    }

    ByteBuf reply(Nfs3Service service, Nfs3Call call) throws IOException {
        return operation.reply(service, call);
    }

    NFS3Response failure(int status) {
        return new Nfs3Failure(status, absentAttributes);
    }
}
