// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.ReplyHeader;
import org.rpcrdma.codec.rpc.RpcServerHandler;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileLocks;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.nfs.Nfs3Status;

/** A server without memory answers, and asks for patience (RFC 1813, 2.6). */
class OutOfMemoryTest {

    private static final int READ = 6;
    private static final int BYTES = 1000;
    private static final Caller.Policy POLICY = Caller.Policy.AS_SERVER;

    @TempDir private Path directory;
    @TempDir private Path state;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private boolean hasMemory;
    private Export export;

    @BeforeEach
    void serve() throws IOException {
        Files.write(directory.resolve("file"), new byte[BYTES]);
        export = new Export(directory, false, state.resolve("key"));
        channel.config().setAllocator(new Memory());
        channel.pipeline()
                .addLast(
                        new RpcServerHandler(
                                Nfs3Program.of(
                                        Nfs3Service.of(export, new FileLocks(), POLICY, 0),
                                        POLICY,
                                        Runnable::run)));
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
        export.close();
    }

    /** Direct memory that is used up for a while. */
    private final class Memory extends AbstractByteBufAllocator {
        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }

        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            return UnpooledByteBufAllocator.DEFAULT.heapBuffer(initialCapacity, maxCapacity);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            if (!hasMemory) {
                throw new OutOfMemoryError("of the test");
            }
            return UnpooledByteBufAllocator.DEFAULT.directBuffer(initialCapacity, maxCapacity);
        }
    }

    /** The status of a READ of the whole file. */
    private int read(int xid) throws Exception {
        ByteBuf call = Unpooled.buffer();
        CallHeader.of(Nfs3Program.PROGRAM, Nfs3Program.VERSION, READ, OpaqueAuth.NONE)
                .writeTo(call);
        call.setInt(0, xid);
        try (Located file = export.locate("file")) {
            export.handle(file).writeTo(new XdrWriter(call));
        }
        channel.writeInbound(call.writeLong(0).writeInt(BYTES));
        channel.runPendingTasks();
        Object message = channel.readOutbound();
        ByteBuf reply = message instanceof RpcMessage parts ? parts.content() : (ByteBuf) message;
        ReplyHeader header = ReplyHeader.read(reply);
        assertThat(header.xid()).isEqualTo(xid);
        assertThat(header.status()).isEqualTo(ReplyHeader.Status.SUCCESS);
        int status = reply.readInt();
        ReferenceCountUtil.release(message);
        return status;
    }

    @Test
    void aCallWithoutMemoryIsAnswered() throws Exception {
        assertThat(read(1)).isEqualTo(Nfs3Status.NFS3ERR_JUKEBOX);
        assertThat(read(2)).isEqualTo(Nfs3Status.NFS3ERR_JUKEBOX);
        hasMemory = true;
        assertThat(read(3)).isEqualTo(Nfs3Status.NFS3_OK);
    }
}
