// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.ACCESS3Request;
import org.apache.hadoop.nfs.nfs3.request.COMMIT3Request;
import org.apache.hadoop.nfs.nfs3.request.CREATE3Request;
import org.apache.hadoop.nfs.nfs3.request.FSINFO3Request;
import org.apache.hadoop.nfs.nfs3.request.FSSTAT3Request;
import org.apache.hadoop.nfs.nfs3.request.GETATTR3Request;
import org.apache.hadoop.nfs.nfs3.request.LINK3Request;
import org.apache.hadoop.nfs.nfs3.request.LOOKUP3Request;
import org.apache.hadoop.nfs.nfs3.request.MKDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.PATHCONF3Request;
import org.apache.hadoop.nfs.nfs3.request.READ3Request;
import org.apache.hadoop.nfs.nfs3.request.READDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.READDIRPLUS3Request;
import org.apache.hadoop.nfs.nfs3.request.READLINK3Request;
import org.apache.hadoop.nfs.nfs3.request.REMOVE3Request;
import org.apache.hadoop.nfs.nfs3.request.RENAME3Request;
import org.apache.hadoop.nfs.nfs3.request.RMDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.SETATTR3Request;
import org.apache.hadoop.nfs.nfs3.request.SYMLINK3Request;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.oncrpc.RpcAcceptedReply.AcceptState;
import org.apache.hadoop.oncrpc.XDR;
import org.rpcrdma.examples.export.NfsException;

/**
 * The procedures of NFSv3 in the order of their numbers (RFC 1813, 3.3). For each: the fields of its arguments that
 * {@link Arguments} checks, how many optional attributes its failed result has, and what it does. WRITE reads its
 * arguments itself.
 */
enum Nfs3Procedure {
    NULL("", 0, (service, call) -> Nfs3Program.accepted(call.xid(), AcceptState.SUCCESS)),
    GETATTR(
            "h",
            0,
            result((service, call) -> service.getattr(GETATTR3Request.deserialize(call.in())))),
    SETATTR(
            "ha",
            2,
            result((service, call) -> service.setattr(SETATTR3Request.deserialize(call.in())))),
    LOOKUP(
            "hs",
            1,
            result((service, call) -> service.lookup(LOOKUP3Request.deserialize(call.in())))),
    ACCESS(
            "h",
            1,
            result(
                    (service, call) -> {
                        XDR in = call.in();
                        return service.access(
                                ACCESS3Request.deserialize(in), in.readInt(), call.caller());
                    })),
    READLINK(
            "h",
            1,
            result((service, call) -> service.readlink(READLINK3Request.deserialize(call.in())))),
    READ(
            "h",
            1,
            (service, call) ->
                    service.read(
                            READ3Request.deserialize(call.in()), call.xid(), call.allocator())),
    WRITE("h", 2, result((service, call) -> service.write(call.arguments()))),
    CREATE(
            "hs",
            2,
            result(
                    (service, call) ->
                            service.create(CREATE3Request.deserialize(call.in()), call.caller()))),
    MKDIR(
            "hsa",
            2,
            result(
                    (service, call) ->
                            service.mkdir(MKDIR3Request.deserialize(call.in()), call.caller()))),
    SYMLINK(
            "hsas",
            2,
            result(
                    (service, call) ->
                            service.symlink(
                                    SYMLINK3Request.deserialize(call.in()), call.caller()))),
    MKNOD(
            "hs",
            2,
            (service, call) -> {
                throw new NfsException(Nfs3Status.NFS3ERR_NOTSUPP, "special files are not made");
            }),
    REMOVE(
            "hs",
            2,
            result((service, call) -> service.remove(REMOVE3Request.deserialize(call.in())))),
    RMDIR("hs", 2, result((service, call) -> service.rmdir(RMDIR3Request.deserialize(call.in())))),
    RENAME(
            "hshs",
            4,
            result((service, call) -> service.rename(RENAME3Request.deserialize(call.in())))),
    LINK("hhs", 3, result((service, call) -> service.link(LINK3Request.deserialize(call.in())))),
    READDIR(
            "h",
            1,
            result((service, call) -> service.readdir(READDIR3Request.deserialize(call.in())))),
    READDIRPLUS(
            "h",
            1,
            result(
                    (service, call) ->
                            service.readdirplus(READDIRPLUS3Request.deserialize(call.in())))),
    FSSTAT(
            "h",
            1,
            result((service, call) -> service.fsstat(FSSTAT3Request.deserialize(call.in())))),
    FSINFO(
            "h",
            1,
            result((service, call) -> service.fsinfo(FSINFO3Request.deserialize(call.in())))),
    PATHCONF(
            "h",
            1,
            result((service, call) -> service.pathconf(PATHCONF3Request.deserialize(call.in())))),
    COMMIT(
            "h",
            2,
            result((service, call) -> service.commit(COMMIT3Request.deserialize(call.in()))));

    /** A call whose arguments are well-formed. */
    record Call(int xid, ByteBuf arguments, Caller caller, ByteBufAllocator allocator) {

        /** The arguments for Hadoop's request classes, from the first one on. */
        XDR in() {
            return new XDR(arguments.nioBuffer(), XDR.State.READING);
        }
    }

    /** Makes the whole reply. */
    interface Operation {
        ByteBuf reply(Nfs3Service service, Call call) throws IOException;
    }

    private interface ResultOperation {
        NFS3Response result(Nfs3Service service, Call call) throws IOException;
    }

    private static final Nfs3Procedure[] BY_NUMBER = values();

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

    /** {@code null} if there is none with that number. */
    static Nfs3Procedure of(int number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : null;
    }

    /** What {@link Arguments} has to find. */
    String fields() {
        return fields;
    }

    ByteBuf reply(Nfs3Service service, Call call) throws IOException {
        return operation.reply(service, call);
    }

    NFS3Response failure(int status) {
        return new Nfs3Failure(status, absentAttributes);
    }
}
