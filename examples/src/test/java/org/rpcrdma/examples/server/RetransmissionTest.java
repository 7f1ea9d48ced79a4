// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.RecordMarkingHandler;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.NfsFixture;
import org.rpcrdma.examples.common.Xdr;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** A client that has lost its connection sends its calls again on another one, with the same XIDs. */
class RetransmissionTest {

    private static final int WRITE = 7;
    private static final int REMOVE = 12;
    private static final int STATUS_INDEX = 24;

    @TempDir private Path directory;
    @TempDir private Path state;

    private final BlockingQueue<byte[]> replies = new LinkedBlockingQueue<>();
    private final RpcRdmaConfig config = RpcRdmaConfig.defaults();
    private NfsFixture fixture;
    private EventLoopGroup loops;
    private Bootstrap bootstrap;

    private void start(NfsFixture.Transport transport) throws IOException {
        // The calls are nobody's (AUTH_NONE).
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        fixture = new NfsFixture(transport, directory, state.resolve("key"), false);
        boolean isRdma = transport == NfsFixture.Transport.RDMA;
        loops = isRdma ? new RdmaEventLoopGroup(1) : new NioEventLoopGroup(1);
        bootstrap =
                isRdma
                        ? config.applyTo(new Bootstrap()).channel(RdmaChannel.class)
                        : new Bootstrap().channel(NioSocketChannel.class);
        bootstrap
                .group(loops)
                .handler(
                        new ChannelInitializer<Channel>() {
                            @Override
                            protected void initChannel(Channel channel) {
                                channel.pipeline()
                                        .addLast(
                                                isRdma
                                                        ? new RpcRdmaCodec(config)
                                                        : new RecordMarkingHandler())
                                        .addLast(new Replies());
                            }
                        });
    }

    @AfterEach
    void stop() {
        loops.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        fixture.close();
    }

    private final class Replies extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf reply) {
            replies.add(ByteBufUtil.getBytes(reply));
        }
    }

    private static ByteBuf remove(int xid, NfsHandle parent, String name) {
        ByteBuf call = Unpooled.buffer().writeInt(xid).writeInt(0).writeInt(2);
        call.writeInt(100003).writeInt(3).writeInt(REMOVE).writeLong(0).writeLong(0);
        parent.writeTo(new XdrWriter(call));
        Xdr.writeString(call, name);
        return call;
    }

    private static ByteBuf write(int xid, NfsHandle file, char data) {
        ByteBuf call = Unpooled.buffer().writeInt(xid).writeInt(0).writeInt(2);
        call.writeInt(100003).writeInt(3).writeInt(WRITE).writeLong(0).writeLong(0);
        file.writeTo(new XdrWriter(call));
        return call.writeLong(0).writeInt(1).writeInt(0).writeInt(1).writeByte(data).writeZero(3);
    }

    private byte[] call(ByteBuf call) throws InterruptedException {
        Channel connection = bootstrap.connect(fixture.nfsAddress()).sync().channel();
        connection.writeAndFlush(call).sync();
        byte[] reply = replies.poll(30, TimeUnit.SECONDS);
        connection.close().sync();
        return reply;
    }

    private static int status(byte[] reply) {
        return Unpooled.wrappedBuffer(reply).getInt(STATUS_INDEX);
    }

    @Test
    void removeIsExecutedOnceOverRdma() throws Exception {
        start(NfsFixture.Transport.RDMA);
        NfsHandle root = fixture.root();
        Files.writeString(directory.resolve("f"), "content");
        byte[] reply = call(remove(7, root, "f"));
        assertThat(status(reply)).isZero();
        assertThat(directory.resolve("f")).doesNotExist();
        assertThat(call(remove(7, root, "f"))).isEqualTo(reply);
        // Another XID is another call, and the same XID for another file too.
        assertThat(status(call(remove(8, root, "f")))).isEqualTo(Nfs3Status.NFS3ERR_NOENT);
        assertThat(status(call(remove(7, root, "g")))).isEqualTo(Nfs3Status.NFS3ERR_NOENT);
    }

    @Test
    void removeIsExecutedOnceThoughTheReplyHasNoConnectionLeft() throws Exception {
        start(NfsFixture.Transport.RDMA);
        NfsHandle root = fixture.root();
        for (int xid = 100; xid < 150; xid++) {
            Files.writeString(directory.resolve("f"), "content");
            Channel lost = bootstrap.connect(fixture.nfsAddress()).sync().channel();
            lost.writeAndFlush(remove(xid, root, "f")).sync();
            lost.close().sync();
            replies.clear();
            assertThat(status(call(remove(xid, root, "f")))).isZero();
            assertThat(directory.resolve("f")).doesNotExist();
        }
    }

    /** Sent again late, it would undo what was written in between. */
    @Test
    void writeIsExecutedOnceOverRdma() throws Exception {
        start(NfsFixture.Transport.RDMA);
        Path file = Files.writeString(directory.resolve("f"), "old");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        NfsHandle handle = fixture.nfs().lookup(fixture.root(), "f").handle();
        byte[] reply = call(write(7, handle, 'a'));
        assertThat(status(reply)).isZero();
        assertThat(status(call(write(8, handle, 'b')))).isZero();
        assertThat(call(write(7, handle, 'a'))).isEqualTo(reply);
        assertThat(file).hasContent("bld");
    }

    @Test
    void overTcpNothingIsRemembered() throws Exception {
        start(NfsFixture.Transport.TCP);
        NfsHandle root = fixture.root();
        Files.writeString(directory.resolve("f"), "content");
        assertThat(status(call(remove(7, root, "f")))).isZero();
        assertThat(status(call(remove(7, root, "f")))).isEqualTo(Nfs3Status.NFS3ERR_NOENT);
    }
}
