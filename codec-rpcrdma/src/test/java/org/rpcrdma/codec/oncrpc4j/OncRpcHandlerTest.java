// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.oncrpc4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.security.auth.Subject;
import org.dcache.oncrpc4j.rpc.OncRpcClient;
import org.dcache.oncrpc4j.rpc.OncRpcProgram;
import org.dcache.oncrpc4j.rpc.OncRpcSvc;
import org.dcache.oncrpc4j.rpc.OncRpcSvcBuilder;
import org.dcache.oncrpc4j.rpc.ReplyQueue;
import org.dcache.oncrpc4j.rpc.RpcAuth;
import org.dcache.oncrpc4j.rpc.RpcAuthType;
import org.dcache.oncrpc4j.rpc.RpcAuthTypeNone;
import org.dcache.oncrpc4j.rpc.RpcAuthTypeUnix;
import org.dcache.oncrpc4j.rpc.RpcAuthVerifier;
import org.dcache.oncrpc4j.rpc.RpcCall;
import org.dcache.oncrpc4j.rpc.RpcDispatchable;
import org.dcache.oncrpc4j.rpc.RpcTransport;
import org.dcache.oncrpc4j.xdr.Xdr;
import org.dcache.oncrpc4j.xdr.XdrAble;
import org.dcache.oncrpc4j.xdr.XdrDecodingStream;
import org.dcache.oncrpc4j.xdr.XdrEncodingStream;
import org.dcache.oncrpc4j.xdr.XdrVoid;
import org.glassfish.grizzly.FileTransfer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;

/** One program of oncrpc4j, served by its own TCP service and over RDMA at once; its own stub calls both. */
class OncRpcHandlerTest {

    private static final int PROGRAM = 0x20001235;
    private static final int VERSION = 3;
    private static final int ECHO = 1;
    private static final int FAIL = 2;
    private static final int WHO = 3;
    private static final int CALL_BACK = 4;
    private static final int READ_FILE = 5;
    private static final int TCP = 6;
    private static final RpcAuth NOBODY = new RpcAuthTypeNone();

    /** Long enough for any machine; nothing is measured by it. */
    private static final long PATIENCE_SECONDS = 60;

    private enum Transport {
        TCP,
        RDMA
    }

    /** {@code opaque<>}; oncrpc4j makes results by reflection. */
    public static final class Bytes implements XdrAble {
        private byte[] bytes;

        public Bytes() {}

        Bytes(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public void xdrDecode(XdrDecodingStream xdr) throws IOException {
            bytes = xdr.xdrDecodeDynamicOpaque();
        }

        @Override
        public void xdrEncode(XdrEncodingStream xdr) {
            xdr.xdrEncodeDynamicOpaque(bytes);
        }
    }

    /** A credential of RPCSEC_GSS (RFC 2203, 5), which says that its arguments are not sealed. */
    private static final class Sealed implements RpcAuth {
        @Override
        public int type() {
            return RpcAuthType.RPCGSS_SEC;
        }

        @Override
        public RpcAuthVerifier getVerifier() {
            return new RpcAuthVerifier(RpcAuthType.NONE, new byte[0]);
        }

        @Override
        public Subject getSubject() {
            return new Subject();
        }

        @Override
        public void xdrEncode(XdrEncodingStream xdr) {
            xdr.xdrEncodeInt(type());
            xdr.xdrEncodeInt(5 * Integer.BYTES);
            xdr.xdrEncodeIntFixedVector(new int[] {1, 0, 1, 1, 0}, 5);
            xdr.xdrEncodeInt(RpcAuthType.NONE);
            xdr.xdrEncodeInt(0);
        }

        @Override
        public void xdrDecode(XdrDecodingStream xdr) {
            throw new UnsupportedOperationException();
        }
    }

    /** A file as a program sends it, without reading it. */
    private static final class FileBytes implements XdrAble {
        private final Path file;

        FileBytes(Path file) {
            this.file = file;
        }

        @Override
        public void xdrDecode(XdrDecodingStream xdr) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void xdrEncode(XdrEncodingStream xdr) {
            ((Xdr) xdr).xdrEncodeFileChunk(new FileTransfer(file.toFile()));
        }
    }

    /** A program as its users write them: it knows nothing of where its calls come from. */
    private final class Program implements RpcDispatchable {
        @Override
        public void dispatchOncRpcCall(RpcCall call) throws IOException {
            switch (call.getProcedure()) {
                case 0 -> call.reply(XdrVoid.XDR_VOID);
                case ECHO -> {
                    Bytes arguments = new Bytes();
                    call.retrieveCall(arguments);
                    call.reply(arguments);
                }
                case FAIL -> throw new IllegalStateException("as it was told to");
                case WHO -> {
                    RpcAuthTypeUnix user = (RpcAuthTypeUnix) call.getCredential();
                    call.reply(new Bytes(new byte[] {(byte) user.uid(), (byte) user.gid()}));
                }
                case CALL_BACK -> {
                    RpcTransport back = call.getTransport().getPeerTransport();
                    Bytes answer = new Bytes();
                    new RpcCall(PROGRAM, VERSION, NOBODY, back)
                            .call(ECHO, new Bytes(bytes(100)), answer);
                    call.reply(answer);
                }
                case READ_FILE -> call.reply(new FileBytes(file));
                default -> call.failProcedureUnavailable();
            }
        }
    }

    @TempDir private Path directory;
    private Path file;
    private final Map<OncRpcProgram, RpcDispatchable> programs =
            Map.of(new OncRpcProgram(PROGRAM, VERSION), new Program());
    private final RpcRdmaConfig config = RpcRdmaConfig.builder().reverseCredits(4).build();
    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private ExecutorService threads;
    private ReplyQueue replies;
    private RdmaEventLoopGroup group;
    private Channel listener;
    private OncRpcSvc tcp;
    private OncRpcClient tcpClient;
    private Channel rdmaChannel;

    @BeforeEach
    void serve() throws Exception {
        file = Files.write(directory.resolve("file"), bytes(300_001));
        threads = Executors.newFixedThreadPool(4);
        replies = new ReplyQueue();
        group = new RdmaEventLoopGroup(2);
        tcp =
                new OncRpcSvcBuilder()
                        .withTCP()
                        .withoutAutoPublish()
                        .withBindAddress(InetAddress.getLoopbackAddress().getHostAddress())
                        .withPort(0)
                        .withRpcService(new OncRpcProgram(PROGRAM, VERSION), new Program())
                        .build();
        tcp.start();
        ServerBootstrap bootstrap =
                new ServerBootstrap().group(group).channel(RdmaServerChannel.class);
        listener =
                config.applyTo(bootstrap)
                        .childHandler(
                                new ChannelInitializer<RdmaChannel>() {
                                    @Override
                                    protected void initChannel(RdmaChannel channel) {
                                        channel.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(config),
                                                        new OncRpcHandler(
                                                                programs, threads, replies));
                                        accepted.add(channel);
                                    }
                                })
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
    }

    @AfterEach
    void stop() throws Exception {
        if (tcpClient != null) {
            tcpClient.close();
        }
        tcp.stop();
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        threads.shutdownNow();
        replies.shutdown();
    }

    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private RpcTransport connect(Transport transport) throws Exception {
        if (transport == Transport.TCP) {
            InetSocketAddress address = tcp.getInetSocketAddress(TCP);
            tcpClient = new OncRpcClient(InetAddress.getLoopbackAddress(), TCP, address.getPort());
            return tcpClient.connect();
        }
        OncRpcHandler handler = new OncRpcHandler(programs, threads, replies);
        Bootstrap bootstrap = new Bootstrap().group(group).channel(RdmaChannel.class);
        rdmaChannel =
                config.applyTo(bootstrap)
                        .handler(
                                new ChannelInitializer<RdmaChannel>() {
                                    @Override
                                    protected void initChannel(RdmaChannel channel) {
                                        channel.pipeline()
                                                .addLast(new RpcRdmaCodec(config), handler);
                                    }
                                })
                        .connect(listener.localAddress())
                        .sync()
                        .channel();
        return handler.transport();
    }

    private static byte[] call(
            RpcTransport transport, RpcAuth user, int procedure, byte[] arguments)
            throws Exception {
        Bytes result = new Bytes();
        new RpcCall(PROGRAM, VERSION, user, transport)
                .call(procedure, new Bytes(arguments), result);
        return result.bytes;
    }

    @ParameterizedTest
    @EnumSource
    void callsAreAnsweredAlike(Transport by) throws Exception {
        RpcTransport transport = connect(by);
        for (int length : new int[] {0, 1, 4000, 60_000, 3_000_000}) {
            assertThat(call(transport, NOBODY, ECHO, bytes(length))).isEqualTo(bytes(length));
        }
        RpcAuth user = new RpcAuthTypeUnix(7, 9, new int[] {9}, 0, "host");
        assertThat(call(transport, user, WHO, new byte[0])).containsExactly(7, 9);
    }

    @ParameterizedTest
    @EnumSource
    void manyCallsAtOnceAreAnsweredOnceEach(Transport by) throws Exception {
        RpcTransport transport = connect(by);
        List<CompletableFuture<Bytes>> answers = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            answers.add(
                    new RpcCall(PROGRAM, VERSION, NOBODY, transport)
                            .call(ECHO, new Bytes(bytes(i)), Bytes.class));
        }
        for (int i = 0; i < 500; i++) {
            assertThat(answers.get(i).get(PATIENCE_SECONDS, TimeUnit.SECONDS).bytes)
                    .isEqualTo(bytes(i));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFileIsSentAlike(Transport by) throws Exception {
        assertThat(call(connect(by), NOBODY, READ_FILE, new byte[0])).isEqualTo(bytes(300_001));
    }

    @ParameterizedTest
    @EnumSource
    void whatFailsIsToldAlike(Transport by) throws Exception {
        RpcTransport transport = connect(by);
        assertThatThrownBy(() -> call(transport, NOBODY, 99, new byte[0]))
                .hasMessageContaining("PROC_UNAVAIL");
        assertThatThrownBy(
                        () ->
                                new RpcCall(PROGRAM + 1, VERSION, NOBODY, transport)
                                        .call(0, XdrVoid.XDR_VOID, XdrVoid.XDR_VOID))
                .hasMessageContaining("PROG_UNAVAIL");
        // Not an opaque<>.
        assertThatThrownBy(
                        () ->
                                new RpcCall(PROGRAM, VERSION, NOBODY, transport)
                                        .call(ECHO, XdrVoid.XDR_VOID, XdrVoid.XDR_VOID))
                .hasMessageContaining("GARBAGE");
        assertThat(call(transport, NOBODY, ECHO, bytes(8))).isEqualTo(bytes(8));
        // After this one the connection over TCP ends.
        assertThatThrownBy(() -> call(transport, NOBODY, FAIL, new byte[0]))
                .hasMessageContaining("SYSTEM");
    }

    @Test
    void theServerCallsItsClient() throws Exception {
        RpcTransport transport = connect(Transport.RDMA);
        Channel served = accepted.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(call(transport, NOBODY, ECHO, bytes(1))).isEqualTo(bytes(1));
        rdmaChannel
                .eventLoop()
                .submit(() -> RpcRdmaConnection.of(rdmaChannel).acceptReverseCalls(4))
                .sync();
        served.eventLoop().submit(() -> RpcRdmaConnection.of(served).allowReverseCalls()).sync();
        assertThat(call(transport, NOBODY, CALL_BACK, new byte[0])).isEqualTo(bytes(100));
    }

    @Test
    void aCallThatWaitsFailsWithItsConnection() throws Exception {
        RpcTransport transport = connect(Transport.RDMA);
        assertThat(call(transport, NOBODY, ECHO, bytes(1))).isEqualTo(bytes(1));
        threads.shutdown();
        assertThatThrownBy(() -> call(transport, NOBODY, ECHO, bytes(1)))
                .hasMessageContaining("SYSTEM");
        rdmaChannel.close().sync();
        assertThat(transport.isOpen()).isFalse();
        assertThatThrownBy(() -> call(transport, NOBODY, ECHO, bytes(1)))
                .isInstanceOf(IOException.class);
    }

    @Test
    void credentialsThatNobodyHasCheckedAreRejected() throws Exception {
        RpcTransport transport = connect(Transport.RDMA);
        RpcAuth sealed = new Sealed();
        assertThatThrownBy(() -> call(transport, sealed, ECHO, bytes(1)))
                .hasMessageContaining("AUTH");
        assertThat(call(transport, NOBODY, ECHO, bytes(1))).isEqualTo(bytes(1));
    }
}
