// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.callers;

import io.netty.channel.ChannelHandler;
import java.io.IOException;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.codec.rpc.RpcServerHandler;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.codec.rpc.XdrWriter;

/** Answers the same calls by the typed layer. */
public final class TypedProgram {

    private static final byte[] DATA = new byte[ReadProcedure.COUNT];
    private static final int RESULT_BYTES = 20 + ReadProcedure.COUNT;

    private TypedProgram() {}

    /** {@return the handler of one or any number of channels} */
    public static ChannelHandler handler() {
        return new RpcServerHandler(
                RpcProgram.builder(ReadProcedure.PROGRAM)
                        .procedure(
                                ReadProcedure.VERSION, ReadProcedure.NUMBER, TypedProgram::execute)
                        .build());
    }

    private static void execute(RpcServerCall call) throws IOException {
        call.read(TypedProgram::readArguments);
        call.reply(RESULT_BYTES, TypedProgram::writeResults);
    }

    private static Void readArguments(XdrReader in) throws MalformedXdrException {
        boolean isRead =
                in.readInt() == ReadProcedure.HANDLE_BYTES
                        && in.readLong() == ReadProcedure.HANDLE
                        && in.readLong() == 0
                        && in.readInt() == DATA.length;
        if (!isRead) {
            throw new IndexOutOfBoundsException();
        }
        return null;
    }

    private static void writeResults(XdrWriter out) {
        out.writeInt(0).writeBoolean(false).writeInt(DATA.length).writeBoolean(true);
        out.writeOpaque(DATA);
    }
}
