// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.same;

import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.binding.Nfs4Binding;
import org.rpcrdma.examples.common.Xdr;

/** One session of NFSv4.1 with one slot (RFC 8881, 2.10), and the COMPOUNDs in it. */
final class Nfs4Session {

    /** CREATE_SESSION4_FLAG_CONN_BACK_CHAN: the connection carries the server's calls too. */
    static final int BACK_CHANNEL = 2;

    /** The program of the server's calls. */
    static final int CALLBACK_PROGRAM = 0x40000000;

    private static final int COMPOUND = 1;
    private static final int PUTROOTFH = 24;
    private static final int EXCHANGE_ID = 42;
    private static final int CREATE_SESSION = 43;
    private static final int DESTROY_SESSION = 44;
    private static final int SEQUENCE = 53;
    private static final int RECLAIM_COMPLETE = 58;
    private static final int SESSION_ID = 16;

    private final Peer peer;
    private final String owner;
    private final int minorVersion;
    private final byte[] id = new byte[SESSION_ID];
    private long client;
    private int sequence;
    private int statusFlags;

    Nfs4Session(Peer peer, String owner) {
        this(peer, owner, 1);
    }

    Nfs4Session(Peer peer, String owner, int minorVersion) {
        this.peer = peer;
        this.owner = owner;
        this.minorVersion = minorVersion;
    }

    /** The client ID that the server has given. */
    long client() {
        return client;
    }

    /** The sr_status_flags of the last call. */
    int statusFlags() {
        return statusFlags;
    }

    /** @param flags of CREATE_SESSION */
    void open(int flags) throws Exception {
        ByteBuf results =
                compound(
                        1,
                        call -> {
                            call.writeInt(EXCHANGE_ID).writeLong(System.nanoTime());
                            Xdr.writeString(call, owner);
                            call.writeInt(0).writeInt(0).writeInt(0);
                        });
        expect(results, EXCHANGE_ID);
        client = results.readLong();
        int first = results.readInt();
        results.release();
        results =
                compound(
                        1,
                        call -> {
                            call.writeInt(CREATE_SESSION).writeLong(client).writeInt(first);
                            call.writeInt(flags);
                            channel(call, 2 << 20);
                            channel(call, 4096);
                            call.writeInt(CALLBACK_PROGRAM).writeInt(1).writeInt(0);
                        });
        expect(results, CREATE_SESSION);
        results.readBytes(id);
        results.skipBytes(4);
        same("flags of CREATE_SESSION", flags, results.readInt());
        results.release();
        call(1, call -> call.writeInt(RECLAIM_COMPLETE).writeInt(0)).release();
    }

    /** channel_attrs4. */
    private static void channel(ByteBuf call, int bytes) {
        call.writeInt(0).writeInt(bytes).writeInt(bytes).writeInt(4096);
        call.writeInt(16).writeInt(1).writeInt(0);
    }

    void close() throws Exception {
        ByteBuf results = compound(1, call -> call.writeInt(DESTROY_SESSION).writeBytes(id));
        expect(results, DESTROY_SESSION);
        results.release();
    }

    /** SEQUENCE, PUTROOTFH and what follows them; the results are at what follows. */
    ByteBuf call(int operations, Consumer<ByteBuf> rest) throws Exception {
        ByteBuf results = compound(2 + operations, sequenced(rest));
        skipSequenced(results);
        return results;
    }

    /** As above, with memory for the data of READs; the content of the reply is at what follows. */
    RpcMessage call(int operations, Consumer<ByteBuf> rest, ByteBuf... sinks) throws Exception {
        ByteBuf call = Peer.call(Nfs4Binding.PROGRAM, 4, COMPOUND);
        writeCompound(call, 2 + operations, sequenced(rest));
        RpcMessage message = new RpcMessage(call);
        for (ByteBuf sink : sinks) {
            message.addSink(sink);
        }
        RpcMessage reply = peer.await(message);
        skipTag(Peer.skipHeader(reply.content()));
        skipSequenced(reply.content());
        return reply;
    }

    private Consumer<ByteBuf> sequenced(Consumer<ByteBuf> rest) {
        sequence++;
        return call -> {
            call.writeInt(SEQUENCE).writeBytes(id);
            call.writeInt(sequence).writeInt(0).writeInt(0).writeInt(0);
            call.writeInt(PUTROOTFH);
            rest.accept(call);
        };
    }

    private void skipSequenced(ByteBuf results) {
        expect(results, SEQUENCE);
        results.skipBytes(SESSION_ID + 4 * 4);
        statusFlags = results.readInt();
        expect(results, PUTROOTFH);
    }

    private ByteBuf compound(int operations, Consumer<ByteBuf> arguments) throws Exception {
        ByteBuf results =
                peer.results(
                        Nfs4Binding.PROGRAM,
                        4,
                        COMPOUND,
                        call -> writeCompound(call, operations, arguments));
        skipTag(results);
        return results;
    }

    private void writeCompound(ByteBuf call, int operations, Consumer<ByteBuf> arguments) {
        call.writeInt(0).writeInt(minorVersion).writeInt(operations);
        arguments.accept(call);
    }

    /** And the status before it, and the number of results behind it. */
    private static void skipTag(ByteBuf results) {
        results.skipBytes(4);
        results.skipBytes(results.readInt() + 3 & ~3);
        results.skipBytes(4);
    }

    static void expect(ByteBuf results, int operation) {
        same("operation", operation, results.readInt());
        same("status of operation " + operation, 0, results.readInt());
    }
}
