// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.hdfs;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInitializer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import org.apache.hadoop.hdfs.nfs.conf.NfsConfiguration;
import org.apache.hadoop.hdfs.nfs.mount.RpcProgramMountd;
import org.apache.hadoop.hdfs.nfs.nfs3.RpcProgramNfs3;
import org.apache.hadoop.oncrpc.RpcProgram;
import org.apache.hadoop.oncrpc.RpcUtil;
import org.apache.hadoop.oncrpc.SimpleTcpServer;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.examples.common.Shutdown;

/**
 * Hadoop's NFS gateway, as it is, on RDMA: its programs and its handlers, with the codec where its frame decoder was.
 * Its MOUNT program is served by Hadoop's own TCP server too, for the Linux kernel, whose MOUNT knows no RDMA.
 *
 * <p>As on TCP, a READ waits for HDFS in the event loop. Hadoop makes its replies in arrays of the heap: they are
 * copied once, into registered memory.
 *
 * <pre>HdfsGateway DIRECTORY NFS_PORT MOUNT_TCP_PORT</pre>
 */
final class HdfsGateway implements AutoCloseable {

    private static final int LOOPS = 2;

    private final RpcRdmaMetrics metrics = new RpcRdmaMetrics();
    private final RpcRdmaConfig config = RpcRdmaConfig.defaults();
    private final RdmaEventLoopGroup loops = new RdmaEventLoopGroup(LOOPS);
    private final RpcProgram nfs;
    private final SimpleTcpServer mountOverTcp;
    private final InetSocketAddress nfsAddress;
    private final InetSocketAddress mountAddress;

    /** Ports may be 0; all listen on the loopback, but for MOUNT over TCP, which Hadoop binds to all addresses. */
    HdfsGateway(NfsConfiguration configuration, int nfsPort, int mountTcpPort)
            throws IOException, InterruptedException {
        nfs = RpcProgramNfs3.createRpcProgramNfs3(configuration, null, true);
        RpcProgram mount = new RpcProgramMountd(configuration, null, true);
        nfs.startDaemons();
        nfsAddress = serve(nfs, nfsPort);
        mountAddress = serve(mount, 0);
        mountOverTcp = new SimpleTcpServer(mountTcpPort, mount, 1);
        mountOverTcp.run();
    }

    private InetSocketAddress serve(RpcProgram program, int port) {
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(loops)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                new ChannelInitializer<RdmaChannel>() {
                                    @Override
                                    protected void initChannel(RdmaChannel channel) {
                                        channel.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(config, metrics),
                                                        RpcUtil.STAGE_RPC_MESSAGE_PARSER,
                                                        program,
                                                        RpcUtil.STAGE_RPC_TCP_RESPONSE);
                                    }
                                });
        config.applyTo(bootstrap);
        return (InetSocketAddress)
                bootstrap
                        .bind(InetAddress.getLoopbackAddress(), port)
                        .syncUninterruptibly()
                        .channel()
                        .localAddress();
    }

    /** NFS version 3, over RDMA. */
    InetSocketAddress nfsAddress() {
        return nfsAddress;
    }

    /** MOUNT, over RDMA. */
    InetSocketAddress mountAddress() {
        return mountAddress;
    }

    /** MOUNT, over TCP. */
    InetSocketAddress mountTcpAddress() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), mountOverTcp.getBoundPort());
    }

    /** Of all connections. */
    RpcRdmaMetrics metrics() {
        return metrics;
    }

    @Override
    public void close() {
        mountOverTcp.shutdown();
        Shutdown.of(loops);
        nfs.stopDaemons();
    }

    /** Ends when there is something to read on its standard input, and then says how much went by RDMA. */
    public static void main(String[] arguments) throws Exception {
        try (Hdfs hdfs = new Hdfs(Path.of(arguments[0]));
                HdfsGateway gateway =
                        new HdfsGateway(
                                hdfs.configuration(),
                                Integer.parseInt(arguments[1]),
                                Integer.parseInt(arguments[2]))) {
            System.out.println("READY");
            int ignored = System.in.read();
            RpcRdmaMetrics metrics = gateway.metrics();
            System.out.println("READ_BYTES " + metrics.value(RpcRdmaCounter.READ_BYTES));
            System.out.println("WRITE_BYTES " + metrics.value(RpcRdmaCounter.WRITE_BYTES_SENT));
        }
        System.out.println("END");
        System.exit(0);
    }
}
