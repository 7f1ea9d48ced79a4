// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** The forms of an exchange (RFC 8166, 3.4 and 3.5), each as a call and its reply. */
enum Form {
    SHORT(0),
    READ_CHUNK(0x10000),
    WRITE_CHUNK(0x20000),
    LONG_CALL(0x30000),
    LONG_REPLY(0x40000),
    LONG_BOTH(0x50000);

    private static final int DATA = 20_003;

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

    /** In memory that is not registered, so that registrations for one call are made too. */
    ByteBuf call(int xid) {
        return direct(
                switch (this) {
                    case SHORT -> Rpc.call(xid, Rpc.NFS, 3, 1);
                    case READ_CHUNK -> Rpc.write3(xid, Rpc.random(DATA));
                    case WRITE_CHUNK -> Rpc.read3(xid, DATA);
                    case LONG_CALL, LONG_BOTH -> Rpc.echo(xid, DATA & ~3);
                    case LONG_REPLY -> Rpc.echo(xid, 8);
                });
    }

    ByteBuf reply(int xid) {
        return direct(
                switch (this) {
                    case SHORT, READ_CHUNK, LONG_CALL -> Rpc.reply(xid).writeZero(88);
                    case WRITE_CHUNK -> Rpc.read3Reply(xid, Rpc.random(DATA));
                    case LONG_REPLY, LONG_BOTH -> Rpc.reply(xid).writeBytes(Rpc.random(DATA & ~3));
                });
    }

    private static ByteBuf direct(ByteBuf heap) {
        try {
            return Unpooled.directBuffer(heap.readableBytes()).writeBytes(heap);
        } finally {
            heap.release();
        }
    }
}
