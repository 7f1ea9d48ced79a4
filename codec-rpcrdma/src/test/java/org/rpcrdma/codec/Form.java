// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCounted;

/** The forms of an exchange (RFC 8166, 3.4 and 3.5), each as a call and its reply. */
enum Form {
    SHORT(0),
    READ_CHUNK(0x10000),
    WRITE_CHUNK(0x20000),
    LONG_CALL(0x30000),
    LONG_REPLY(0x40000),
    LONG_BOTH(0x50000),
    /** Read chunks, Write chunks and the Reply chunk in one call, all of them used. */
    ALL_CHUNKS(0x60000),
    /** The same, but the reply turns out to be short: its chunks come back empty. */
    UNUSED_CHUNKS(0x70000),
    /** An argument in memory of the user. */
    APART_ARGUMENT(0x80000),
    /** A result in memory of the user. */
    APART_RESULT(0x90000),
    /** All kinds of chunks with two arguments and two results of the user, and a Position Zero Read chunk. */
    APART_ALL(0xA0000);

    private static final int DATA = 20_003;

    private static final int MANY = 2 | ItemsBinding.LONG_TAIL;
    private static final int TAIL = 5000;
    private static final int FIRST = 5001;
    private static final int SECOND = 6003;

    private final int xids;

    Form(int xids) {
        this.xids = xids;
    }

    /** The first of the XIDs that belong to calls of this form; 65536 in all. */
    int xids() {
        return xids;
    }

    /** The form of the call that has this XID. */
    static Form of(int xid) {
        for (Form form : values()) {
            if (form.xids == (xid & 0xFFFF0000)) {
                return form;
            }
        }
        throw new IllegalArgumentException("XID " + xid);
    }

    /** Whether it has items and sinks of the user. */
    boolean isApart() {
        return compareTo(APART_ARGUMENT) >= 0;
    }

    /** The handles that a call takes. */
    int handles() {
        return switch (this) {
            case SHORT -> 0;
            case READ_CHUNK, WRITE_CHUNK, LONG_REPLY, APART_ARGUMENT, APART_RESULT -> 1;
            case LONG_CALL, LONG_BOTH -> 2;
            case ALL_CHUNKS, UNUSED_CHUNKS -> 5;
            case APART_ALL -> 6;
        };
    }

    /** The whole call, in memory that is not registered, so that registrations for one call are made too. */
    ByteBuf call(int xid) {
        return direct(
                switch (this) {
                    case SHORT -> Rpc.call(xid, Rpc.NFS, 3, 1);
                    case READ_CHUNK -> Rpc.write3(xid, Rpc.random(DATA));
                    case WRITE_CHUNK -> Rpc.read3(xid, DATA);
                    case LONG_CALL, LONG_BOTH -> Rpc.echo(xid, DATA & ~3);
                    case LONG_REPLY -> Rpc.echo(xid, 8);
                    case ALL_CHUNKS, UNUSED_CHUNKS ->
                            ItemsBinding.call(xid, MANY, 8, FIRST, SECOND);
                    case APART_ARGUMENT -> ItemsBinding.call(xid, 0, 8, FIRST);
                    case APART_RESULT -> ItemsBinding.call(xid, 1, 8);
                    case APART_ALL -> ItemsBinding.call(xid, MANY, TAIL, FIRST, SECOND);
                });
    }

    /** The call as the requester's user writes it. */
    ReferenceCounted written(int xid) {
        return switch (this) {
            case APART_ARGUMENT -> ItemsBinding.callApart(xid, 0, 8, FIRST);
            case APART_RESULT -> ItemsBinding.callApart(xid, 1, 8);
            case APART_ALL -> ItemsBinding.callApart(xid, MANY, TAIL, FIRST, SECOND);
            default -> call(xid);
        };
    }

    ByteBuf reply(int xid) {
        return direct(
                switch (this) {
                    case SHORT, READ_CHUNK, LONG_CALL -> Rpc.reply(xid).writeZero(88);
                    case WRITE_CHUNK -> Rpc.read3Reply(xid, Rpc.random(DATA));
                    case LONG_REPLY, LONG_BOTH -> Rpc.reply(xid).writeBytes(Rpc.random(DATA & ~3));
                    case ALL_CHUNKS, APART_ALL -> ItemsBinding.reply(xid, MANY, FIRST, SECOND);
                    case UNUSED_CHUNKS -> ItemsBinding.reply(xid, 0, 0, 0);
                    case APART_ARGUMENT -> ItemsBinding.reply(xid, 0);
                    case APART_RESULT -> ItemsBinding.reply(xid, 1, FIRST);
                });
    }

    /** As the responder's handler writes it. */
    ReferenceCounted answer(int xid) {
        return switch (this) {
            case APART_RESULT -> ItemsBinding.replyApart(xid, 1, FIRST);
            case APART_ALL -> ItemsBinding.replyApart(xid, MANY, FIRST, SECOND);
            default -> reply(xid);
        };
    }

    private static ByteBuf direct(ByteBuf heap) {
        try {
            return Unpooled.directBuffer(heap.readableBytes()).writeBytes(heap);
        } finally {
            heap.release();
        }
    }
}
