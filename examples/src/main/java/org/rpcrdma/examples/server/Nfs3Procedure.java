// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.nfs.Nfs3Status;

/**
 * The procedures of NFSv3 but NULL, in the order of their numbers (RFC 1813, 3.3). For each: how many optional
 * attributes its failed result has, and what it does.
 */
enum Nfs3Procedure {
    GETATTR(0, (service, call) -> service.attributes().getattr(call)),
    SETATTR(2, (service, call) -> service.attributes().setattr(call)),
    LOOKUP(1, (service, call) -> service.names().lookup(call)),
    ACCESS(1, (service, call) -> service.attributes().access(call)),
    READLINK(1, (service, call) -> service.names().readlink(call)),
    READ(1, (service, call) -> service.data().read(call)),
    WRITE(2, (service, call) -> service.data().write(call)),
    CREATE(2, (service, call) -> service.creation().create(call)),
    MKDIR(2, (service, call) -> service.creation().mkdir(call)),
    SYMLINK(2, (service, call) -> service.creation().symlink(call)),
    MKNOD(2, (service, call) -> notSupported()),
    REMOVE(2, (service, call) -> service.names().remove(call)),
    RMDIR(2, (service, call) -> service.names().rmdir(call)),
    RENAME(4, (service, call) -> service.names().rename(call)),
    LINK(3, (service, call) -> service.names().link(call)),
    READDIR(1, (service, call) -> service.directories().readdir(call)),
    READDIRPLUS(1, (service, call) -> service.directories().readdirplus(call)),
    FSSTAT(1, (service, call) -> service.attributes().fsstat(call)),
    FSINFO(1, (service, call) -> service.attributes().fsinfo(call)),
    PATHCONF(1, (service, call) -> service.attributes().pathconf(call)),
    COMMIT(2, (service, call) -> service.data().commit(call));

    private interface Operation {
        XdrEncodable results(Nfs3Service service, Nfs3Call call) throws IOException;
    }

    private final int absentAttributes;

    @SuppressWarnings("ImmutableEnumChecker") // lambdas without a state
    private final Operation operation;

    Nfs3Procedure(int absentAttributes, Operation operation) {
        this.absentAttributes = absentAttributes;
        this.operation = operation;
    }

    private static XdrEncodable notSupported() throws NfsException {
        throw new NfsException(Nfs3Status.NFS3ERR_NOTSUPP, "special files are not made");
    }

    /** The number; 0 is NULL, which every program has. */
    @SuppressWarnings("EnumOrdinal") // the order is that of the numbers, and a test holds it
    int number() {
        return ordinal() + 1;
    }

    /** What follows NFS3_OK, read from files by now. */
    XdrEncodable results(Nfs3Service service, Nfs3Call call) throws IOException {
        return operation.results(service, call);
    }

    /** The whole result of a procedure that failed: its status and no attributes. */
    XdrEncodable failure(int status) {
        return out -> out.writeInt(status).buffer().writeZero(4 * absentAttributes);
    }
}
