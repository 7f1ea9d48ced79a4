// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.ErrChunkReplyException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.binding.NfsAclBinding;
import org.rpcrdma.codec.rpc.CallOptions;

/**
 * Access control lists: SETACL has no eligible item, so that a long one goes as a long call (RFC 8166, 3.5.3), and
 * GETACL's reply comes in a Reply chunk, which the caller can make too small.
 */
final class NfsAclChecks {

    private static final int VERSION = 3;
    private static final int GETACL = 1;
    private static final int SETACL = 2;

    /** The access list, and its number of entries. */
    private static final int ACCESS_LIST = 3;

    private static final int USER_OBJECT = 1;
    private static final int USER = 2;
    private static final int GROUP_OBJECT = 4;
    private static final int MASK = 0x10;
    private static final int OTHER = 0x20;

    /**
     * As many as Linux encodes without a mistake: the list and what is before it have to be in one page. That is more
     * than goes inline, in a call with the credential of {@link Peer} as in a reply.
     */
    private static final int USERS = 325;

    /** More than goes inline, so that there is a Reply chunk, and less than the reply of 4084 bytes. */
    private static final int TOO_FEW_BYTES = 4076;

    private final Peer peer;
    private final byte[] file;

    NfsAclChecks(Peer peer, byte[] file) {
        this.peer = peer;
        this.file = file;
    }

    void run(Report report) {
        report.check("NFSACL SETACL as a long call, GETACL by a Reply chunk", this::longList);
        report.check(
                "ERR_CHUNK for a short Reply chunk, then the call with a larger one", this::grows);
        report.check("ERR_CHUNK is an exception when nobody may repeat the call", this::tooSmall);
    }

    private void longList() throws Exception {
        ByteBuf results = peer.results(NfsAclBinding.PROGRAM, VERSION, SETACL, this::list);
        same("SETACL's status", 0, results.readInt());
        results.release();
        results = peer.results(NfsAclBinding.PROGRAM, VERSION, GETACL, this::ask);
        expectList(results);
        results.release();
    }

    private void grows() throws Exception {
        RpcMessage reply = peer.await(shortOfRoom());
        expectList(Peer.skipHeader(reply.content()));
        reply.release();
    }

    private void tooSmall() throws Exception {
        try {
            peer.await(
                            shortOfRoom(),
                            CallOptions.DEFAULT.withRepetition(CallOptions.Repetition.NEVER))
                    .release();
        } catch (ErrChunkReplyException expected) {
            return;
        }
        throw new AssertionError("there was a reply");
    }

    private RpcMessage shortOfRoom() {
        ByteBuf call = Peer.call(NfsAclBinding.PROGRAM, VERSION, GETACL);
        ask(call);
        return new RpcMessage(call).maximumReply(TOO_FEW_BYTES);
    }

    private void ask(ByteBuf call) {
        Nfs3Checks.handle(call, file).writeInt(ACCESS_LIST);
    }

    private void list(ByteBuf call) {
        Nfs3Checks.handle(call, file).writeInt(ACCESS_LIST);
        call.writeInt(USERS + 4).writeInt(USERS + 4);
        call.writeInt(USER_OBJECT).writeInt(0).writeInt(6);
        for (int user = 1; user <= USERS; user++) {
            call.writeInt(USER).writeInt(1000 + user).writeInt(user % 8);
        }
        call.writeInt(GROUP_OBJECT).writeInt(0).writeInt(4);
        call.writeInt(MASK).writeInt(0).writeInt(7);
        call.writeInt(OTHER).writeInt(0).writeInt(4);
        call.writeInt(0).writeInt(0);
    }

    private void expectList(ByteBuf results) {
        same("GETACL's status", 0, results.readInt());
        if (results.readInt() != 0) {
            results.skipBytes(84);
        }
        same("which lists", ACCESS_LIST, results.readInt());
        same("entries", USERS + 4, results.readInt());
        same("entries in the list", USERS + 4, results.readInt());
        results.skipBytes(12);
        for (int user = 1; user <= USERS; user++) {
            same("kind of entry", USER, results.readInt());
            same("user", 1000 + user, results.readInt());
            same("permissions of user " + user, user % 8, results.readInt());
        }
        holds(results.readableBytes() >= 3 * 12, "the list ends early");
    }
}
