// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.oncrpc4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.EOFException;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.CompletionHandler;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.security.auth.Subject;
import org.dcache.oncrpc4j.rpc.OncRpcClient;
import org.dcache.oncrpc4j.rpc.OncRpcProgram;
import org.dcache.oncrpc4j.rpc.OncRpcSvc;
import org.dcache.oncrpc4j.rpc.OncRpcSvcBuilder;
import org.dcache.oncrpc4j.rpc.RpcAccepsStatus;
import org.dcache.oncrpc4j.rpc.RpcAuth;
import org.dcache.oncrpc4j.rpc.RpcAuthType;
import org.dcache.oncrpc4j.rpc.RpcAuthTypeNone;
import org.dcache.oncrpc4j.rpc.RpcAuthTypeUnix;
import org.dcache.oncrpc4j.rpc.RpcAuthVerifier;
import org.dcache.oncrpc4j.rpc.RpcCall;
import org.dcache.oncrpc4j.rpc.RpcDispatchable;
import org.dcache.oncrpc4j.rpc.RpcMessageType;
import org.dcache.oncrpc4j.rpc.RpcReply;
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
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.LateReplies;
import org.rpcrdma.codec.ObjectGraph;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaGauge;

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
    private static final int FAIL_BY_ERROR = 7;
    private static final int READ_SHORT_FILE = 8;
    private static final int HOLD = 9;
    private static final int ANSWER_GARBAGE = 10;
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

    /** A file that becomes shorter when its length is written already. */
    private static final class TruncatedFile implements XdrAble {
        private final Path file;

        TruncatedFile(Path file) {
            this.file = file;
        }

        @Override
        public void xdrDecode(XdrDecodingStream xdr) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void xdrEncode(XdrEncodingStream xdr) throws IOException {
            ((Xdr) xdr).xdrEncodeFileChunk(new FileTransfer(file.toFile()));
            Files.write(file, new byte[10]);
        }
    }

    /** Nobody wants to know. */
    private static class Ignored<V, A> implements CompletionHandler<V, A> {
        @Override
        public void completed(V result, A attachment) {}

        @Override
        public void failed(Throwable cause, A attachment) {}
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
                case FAIL_BY_ERROR -> throw new LinkageError("as it was told to");
                case READ_SHORT_FILE -> call.reply(new TruncatedFile(file));
                case HOLD -> held.add(call);
                case ANSWER_GARBAGE -> {
                    Bytes lengthOfVerifier = new Bytes();
                    call.retrieveCall(lengthOfVerifier);
                    Xdr reply = new Xdr(64);
                    reply.beginEncoding();
                    reply.xdrEncodeInt(call.getXid());
                    reply.xdrEncodeInt(RpcMessageType.REPLY);
                    reply.xdrEncodeInt(0);
                    reply.xdrEncodeInt(RpcAuthType.NONE);
                    reply.xdrEncodeInt(lengthOfVerifier.bytes[0]);
                    reply.endEncoding();
                    call.getTransport().send(reply, null, new Ignored<Integer, Object>());
                }
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
    private final BlockingQueue<RpcCall> held = new LinkedBlockingQueue<>();
    private ExecutorService threads;
    private RdmaEventLoopGroup group;
    private Channel listener;
    private OncRpcSvc tcp;
    private OncRpcClient tcpClient;
    private Channel rdmaChannel;

    @BeforeEach
    void serve() throws Exception {
        file = Files.write(directory.resolve("file"), bytes(300_001));
        threads = Executors.newFixedThreadPool(4);
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
                                                        new OncRpcHandler(programs, threads));
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
        return connect(config);
    }

    private RpcTransport connect(RpcRdmaConfig config) throws Exception {
        OncRpcHandler handler = new OncRpcHandler(programs, threads);
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
        openReverse(served);
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

    // ------------------------------------------------------------------ what fails

    /** As many as there are credits, and more: none of them is lost. */
    @ParameterizedTest
    @ValueSource(ints = {FAIL_BY_ERROR, READ_SHORT_FILE})
    @Proves("V1-ERR-24")
    void whatFailsAnErrorOrTheReplyItselfIsAnswered(int procedure) throws Exception {
        RpcTransport transport = connect(Transport.RDMA);
        Channel served = accepted.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        for (int i = 0; i < 3; i++) {
            Files.write(file, bytes(300_001));
            assertThatThrownBy(() -> call(transport, NOBODY, procedure, new byte[0]))
                    .hasMessageContaining("SYSTEM");
        }
        assertThat(call(transport, NOBODY, ECHO, bytes(8))).isEqualTo(bytes(8));
        assertThat(RpcRdmaConnection.of(served).value(RpcRdmaGauge.CALLS_IN_PROGRESS)).isZero();
    }

    /** What the executor throws comes to the handler, not to the program. */
    @Test
    @Proves("V1-ERR-24")
    void anExecutorWithoutThreadsCostsItsCall() throws Exception {
        Executor full =
                task -> {
                    throw new LinkageError("unable to create native thread");
                };
        EmbeddedChannel channel = new EmbeddedChannel(new OncRpcHandler(programs, full));
        channel.writeInbound(callOf(ECHO));
        ByteBuf reply = channel.readOutbound();
        assertThat(reply.getInt(0)).isEqualTo(7);
        assertThat(reply.getInt(20)).isEqualTo(RpcAccepsStatus.SYSTEM);
        reply.release();
        channel.finishAndReleaseAll();
    }

    private static ByteBuf callOf(int procedure) {
        return Unpooled.buffer()
                .writeInt(7)
                .writeInt(0)
                .writeInt(2)
                .writeInt(PROGRAM)
                .writeInt(VERSION)
                .writeInt(procedure)
                .writeZero(16);
    }

    /** Without memory for one more thread: the task is in the queue, and the call is answered. */
    @Test
    void aCallThatAFailedExecutorHasQueuedIsNotExecuted() {
        Queue<Runnable> tasks = new ArrayDeque<>();
        Executor failing =
                task -> {
                    tasks.add(task);
                    throw new OutOfMemoryError("of the test");
                };
        EmbeddedChannel channel = new EmbeddedChannel(new OncRpcHandler(programs, failing));
        channel.writeInbound(callOf(HOLD));
        ByteBuf reply = channel.readOutbound();
        assertThat(reply.getInt(20)).isEqualTo(RpcAccepsStatus.SYSTEM);
        reply.release();
        tasks.remove().run();
        assertThat(held).isEmpty();
        channel.finishAndReleaseAll();
    }

    /** Otherwise the queue of the executor has no bound: a client connects, calls and closes again and again. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallOfALostConnectionIsExecutedIfItsReplyIsAwaited(boolean isAwaited) {
        int bytes = 100_000;
        Queue<Runnable> tasks = new ArrayDeque<>();
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        isAwaited ? new LateReplies() : new ChannelInboundHandlerAdapter(),
                        new OncRpcHandler(programs, tasks::add));
        channel.writeInbound(callOf(HOLD), callOf(HOLD).writeZero(bytes));
        tasks.remove().run();
        assertThat(held).hasSize(1);
        channel.close();
        channel.runPendingTasks();
        if (!isAwaited) {
            assertThat(ObjectGraph.bytesFrom(tasks)).isLessThan(bytes);
        }
        tasks.remove().run();
        assertThat(held).hasSize(isAwaited ? 2 : 1);
        channel.finishAndReleaseAll();
    }

    @Test
    void whatTheTransportFailsFailsAtItsCaller() throws Exception {
        RpcTransport transport =
                connect(
                        RpcRdmaConfig.builder()
                                .longSize(0)
                                .defaultMaximumReply(1024)
                                .announceReadChunkReplies(false)
                                .build());
        assertThatThrownBy(() -> call(transport, NOBODY, READ_FILE, new byte[0]))
                .hasStackTraceContaining("ErrChunkReplyException");
        assertThat(call(transport, NOBODY, ECHO, bytes(8))).isEqualTo(bytes(8));
    }

    /** Of the verifier, which is not there. */
    @ParameterizedTest
    @ValueSource(bytes = {0, 4, -1, Byte.MIN_VALUE})
    void aReplyThatIsNotUnderstoodFailsItsCall(byte length) throws Exception {
        RpcTransport transport = connect(Transport.RDMA);
        assertThatThrownBy(() -> call(transport, NOBODY, ANSWER_GARBAGE, new byte[] {length}))
                .isInstanceOf(Exception.class);
        assertThat(call(transport, NOBODY, ECHO, bytes(8))).isEqualTo(bytes(8));
    }

    @Test
    void aHandlerThatThrowsKeepsNothingFromOthers() throws Exception {
        RpcTransport transport = connect(Transport.RDMA);
        CountDownLatch called = new CountDownLatch(1);
        CompletionHandler<RpcReply, RpcTransport> failing =
                new Ignored<>() {
                    @Override
                    public void completed(RpcReply reply, RpcTransport by) {
                        called.countDown();
                        throw new LinkageError("as it was told to");
                    }
                };
        new RpcCall(PROGRAM, VERSION, NOBODY, transport).call(0, XdrVoid.XDR_VOID, failing);
        assertThat(called.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(call(transport, NOBODY, ECHO, bytes(8))).isEqualTo(bytes(8));
        assertThat(rdmaChannel.isActive()).isTrue();
    }

    /** All accepted channels have the address of their listener. */
    @Test
    void theLossOfOneClientIsNoneOfOthers() throws Exception {
        List<Channel> clients = new ArrayList<>();
        RpcCall last = null;
        List<CompletableFuture<Bytes>> calls = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            RpcTransport transport = connect(Transport.RDMA);
            clients.add(rdmaChannel);
            Channel served = accepted.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(call(transport, NOBODY, ECHO, bytes(1))).isEqualTo(bytes(1));
            openReverse(served);
            RpcTransport back = served.pipeline().get(OncRpcHandler.class).transport();
            calls.add(
                    new RpcCall(PROGRAM, VERSION, NOBODY, back)
                            .call(HOLD, new Bytes(bytes(9)), Bytes.class));
            last = held.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
        clients.get(0).close().sync();
        assertThatThrownBy(() -> calls.get(0).get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .hasStackTraceContaining("the connection was lost");
        assertThat(calls.get(1)).isNotDone();
        Bytes arguments = new Bytes();
        last.retrieveCall(arguments);
        last.reply(arguments);
        assertThat(calls.get(1).get(PATIENCE_SECONDS, TimeUnit.SECONDS).bytes).isEqualTo(bytes(9));
    }

    private void openReverse(Channel served) throws Exception {
        rdmaChannel
                .eventLoop()
                .submit(() -> RpcRdmaConnection.of(rdmaChannel).acceptReverseCalls(4))
                .sync();
        served.eventLoop().submit(() -> RpcRdmaConnection.of(served).allowReverseCalls()).sync();
    }

    /** Two calls chose the same XID: the first is not touched, and the second is refused before it is sent. */
    @Test
    void aCallWithTheXidOfAnotherIsRefused() throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel();
        RequesterPendingReplyQueue replies = new RequesterPendingReplyQueue(channel);
        CompletionHandler<RpcReply, RpcTransport> first = new Ignored<>();
        CompletionHandler<RpcReply, RpcTransport> second = new Ignored<>();
        channel.freezeTime();
        replies.registerKey(0x71, null, first, 10, TimeUnit.SECONDS);
        assertThatThrownBy(() -> replies.registerKey(0x71, null, second, 5, TimeUnit.SECONDS))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("0x71");
        channel.advanceTimeBy(5, TimeUnit.SECONDS);
        channel.runScheduledPendingTasks();
        assertThat(replies.get(0x71)).isSameAs(first);
        replies.registerKey(0x71, null, second, 5, TimeUnit.SECONDS);
        assertThat(replies.get(0x71)).isSameAs(second);
        channel.finishAndReleaseAll();
    }

    /** The time is that of the event loop. */
    @Test
    void aCallThatIsNotAnsweredInTimeFails() throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel();
        RequesterPendingReplyQueue replies = new RequesterPendingReplyQueue(channel);
        List<Throwable> failures = new ArrayList<>();
        CompletionHandler<RpcReply, RpcTransport> handler = failing(failures);
        channel.freezeTime();
        replies.registerKey(1, null, handler, 10, TimeUnit.SECONDS);
        replies.registerKey(2, null, handler, 10, TimeUnit.SECONDS);
        replies.registerKey(3, null, handler);
        assertThat(replies.get(2)).isSameAs(handler);
        channel.advanceTimeBy(10, TimeUnit.SECONDS);
        channel.runScheduledPendingTasks();
        assertThat(failures).singleElement().isInstanceOf(TimeoutException.class);
        replies.shutdown();
        assertThat(failures).hasSize(2);
        assertThatThrownBy(() -> replies.registerKey(4, null, handler))
                .isInstanceOf(EOFException.class);
        assertThat(failures).hasSize(2);
        channel.finishAndReleaseAll();
    }

    /** The thread of the caller stands still between two steps of a call, and time goes on. */
    private static final class SlowCaller extends EmbeddedChannel {
        private boolean isSlow;

        @Override
        public EventLoop eventLoop() {
            EventLoop loop = super.eventLoop();
            return isSlow ? slow(loop) : loop;
        }

        private EventLoop slow(EventLoop loop) {
            return (EventLoop)
                    Proxy.newProxyInstance(
                            EventLoop.class.getClassLoader(),
                            new Class<?>[] {EventLoop.class},
                            (proxy, method, arguments) -> {
                                Object result = method.invoke(loop, arguments);
                                advanceTimeBy(10, TimeUnit.SECONDS);
                                runScheduledPendingTasks();
                                return result;
                            });
        }
    }

    /** Its caller was descheduled behind the timer, and ahead of whatever follows it. */
    @Test
    void aCallThatIsLateAtOnceFails() throws Exception {
        SlowCaller channel = new SlowCaller();
        RequesterPendingReplyQueue replies = new RequesterPendingReplyQueue(channel);
        List<Throwable> failures = new ArrayList<>();
        channel.freezeTime();
        channel.isSlow = true;
        replies.registerKey(1, null, failing(failures), 10, TimeUnit.SECONDS);
        assertThat(failures).singleElement().isInstanceOf(TimeoutException.class);
        assertThat(replies.get(1)).isNull();
        channel.isSlow = false;
        channel.finishAndReleaseAll();
    }

    /** The second call is refused, and its time is nothing to the first one. */
    @Test
    void aCallIsNotLateInTheTimeOfAnother() throws Exception {
        SlowCaller channel = new SlowCaller();
        RequesterPendingReplyQueue replies = new RequesterPendingReplyQueue(channel);
        List<Throwable> failures = new ArrayList<>();
        CompletionHandler<RpcReply, RpcTransport> first = failing(failures);
        channel.freezeTime();
        replies.registerKey(1, null, first, 60, TimeUnit.SECONDS);
        channel.isSlow = true;
        assertThatThrownBy(() -> replies.registerKey(1, null, new Ignored<>(), 5, TimeUnit.SECONDS))
                .isInstanceOf(IllegalStateException.class);
        assertThat(failures).isEmpty();
        assertThat(replies.get(1)).isSameAs(first);
        channel.isSlow = false;
        channel.finishAndReleaseAll();
    }

    private static CompletionHandler<RpcReply, RpcTransport> failing(List<Throwable> failures) {
        return new Ignored<>() {
            @Override
            public void failed(Throwable cause, RpcTransport by) {
                failures.add(cause);
            }
        };
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
