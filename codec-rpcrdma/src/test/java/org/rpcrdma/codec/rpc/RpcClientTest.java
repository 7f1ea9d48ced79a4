// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.FastThreadLocal;
import java.io.Closeable;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.MarshalException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.ScarceMemory;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.client.StreamRpcTransport;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;

/** The same client and the same handler over RDMA and over TCP. */
class RpcClientTest {

    private static final int PROGRAM = 0x20000001;
    private static final int ADD = 1;
    private static final int WHO = 2;
    private static final int WAIT = 3;
    private static final int ECHO = 4;
    private static final int FAIL = 5;
    private static final int WEAK = 6;
    private static final int SHORT = 7;
    private static final int ITEM = 8;

    enum Carrier {
        RDMA,
        TCP
    }

    private final RdmaEventLoopGroup rdma = new RdmaEventLoopGroup(1);
    private final NioEventLoopGroup tcp = new NioEventLoopGroup(1);
    private final ExecutorService threads = Executors.newFixedThreadPool(2);
    private final List<Closeable> open = new ArrayList<>();
    private final List<Channel> accepted = Collections.synchronizedList(new ArrayList<>());
    private final BlockingQueue<RpcServerCall> waiting = new LinkedBlockingQueue<>();
    private final RpcRdmaConfig config = RpcRdmaConfig.builder().maxMessageBytes(1 << 20).build();

    private final RpcProgram program =
            RpcProgram.builder(PROGRAM)
                    .procedure(2, ADD, RpcClientTest::add)
                    .procedure(2, WHO, RpcClientTest::who)
                    .procedure(2, WAIT, waiting::add)
                    .procedure(2, ECHO, call -> call.reply(call.arguments().retainedSlice()))
                    .procedure(2, FAIL, call -> Integer.parseInt("no number"))
                    .procedure(2, WEAK, call -> call.refuseAuthentication(5))
                    .procedure(2, SHORT, call -> call.reply(out -> out.writeInt(1)))
                    .procedure(2, ITEM, RpcClientTest::answerWithAnItem)
                    .executor(threads)
                    .build();

    private static void add(RpcServerCall call) throws Exception {
        int sum = call.read(in -> in.readInt() + in.readInt());
        call.reply(out -> out.writeInt(sum));
    }

    private static void who(RpcServerCall call) throws Exception {
        int uid = call.flavor() == 0 ? -1 : AuthSys.of(call.credential()).uid();
        call.reply(out -> out.writeInt(uid));
    }

    /** No binding of the server names it. */
    private static void answerWithAnItem(RpcServerCall call) {
        call.reply(out -> out.writeItem(Unpooled.directBuffer(8000).writeZero(8000)));
    }

    @AfterEach
    void tearDown() throws Exception {
        for (Closeable one : open) {
            one.close();
        }
        // A call that its client has given up may be on its way to the procedure that keeps it.
        threads.shutdown();
        assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
        for (RpcServerCall call : waiting) {
            call.drop();
        }
        rdma.shutdownGracefully(0, 60, TimeUnit.SECONDS).syncUninterruptibly();
        tcp.shutdownGracefully(0, 60, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private InetSocketAddress serve(Carrier carrier) {
        ServerBootstrap server = new ServerBootstrap();
        if (carrier == Carrier.RDMA) {
            config.applyTo(server).group(rdma).channel(RdmaServerChannel.class);
        } else {
            server.group(tcp).channel(NioServerSocketChannel.class);
        }
        server.childHandler(
                new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        accepted.add(channel);
                        ChannelHandler framing =
                                channel instanceof RdmaChannel
                                        ? new RpcRdmaCodec(config)
                                        : new RecordMarkingHandler();
                        channel.pipeline().addLast(framing, new RpcServerHandler(program));
                    }
                });
        Channel listener =
                server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                        .syncUninterruptibly()
                        .channel();
        return (InetSocketAddress) listener.localAddress();
    }

    private RpcTransport transport(Carrier carrier, InetSocketAddress address) throws Exception {
        if (carrier == Carrier.RDMA) {
            RpcRdmaClient client = RpcRdmaClient.builder(rdma, address).config(config).build();
            open.add(client);
            client.connect().join();
            return client;
        }
        StreamRpcTransport client =
                StreamRpcTransport.connect(
                                new Bootstrap().group(tcp).channel(NioSocketChannel.class), address)
                        .join();
        open.add(client);
        return client;
    }

    private RpcClient client(Carrier carrier) throws Exception {
        RpcClient client = new RpcClient(transport(carrier, serve(carrier)), PROGRAM, 2);
        // With the first reply a requester has more than one credit (RFC 8166, 3.3.1).
        client.call(0, XdrEncodable.VOID, XdrDecoder.VOID).join();
        return client;
    }

    @ParameterizedTest
    @EnumSource
    void argumentsAndResultsAreBuffersOrObjects(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        assertThat(client.call(ADD, out -> out.writeInt(3).writeInt(4), XdrReader::readInt).join())
                .isEqualTo(7);
        ByteBuf sum = client.call(ADD, Unpooled.buffer().writeInt(3).writeInt(5)).join();
        assertThat(sum.readInt()).isEqualTo(8);
        assertThat(sum.isReadable()).isFalse();
        sum.release();
        ByteBuf again = client.call(ADD, out -> out.writeInt(3).writeInt(6)).join();
        assertThat(again.readInt()).isEqualTo(9);
        again.release();
        ByteBuf nothing = client.call(0).join();
        assertThat(nothing.isReadable()).isFalse();
        nothing.release();
        assertThat(client.call(0, XdrEncodable.VOID, XdrDecoder.VOID).join()).isNull();
    }

    @ParameterizedTest
    @EnumSource
    void longOnesComeBackAsTheyWere(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        ByteBuf arguments = Unpooled.buffer();
        for (int i = 0; i < 5000; i++) {
            arguments.writeInt(i);
        }
        ByteBuf expected = arguments.copy();
        ByteBuf results = client.call(ECHO, arguments).join();
        assertThat(results).isEqualTo(expected);
        assertThat(arguments.refCnt()).isZero();
        results.release();
        expected.release();
    }

    @ParameterizedTest
    @EnumSource
    void eachCallHasItsCredential(Carrier carrier) throws Exception {
        RpcClient nobody = client(carrier);
        List<Integer> uids = new ArrayList<>(List.of(1000, 1001));
        RpcClient users =
                nobody.withCredentials(
                        () -> OpaqueAuth.sys("host", uids.remove(0), 100, List.of()));
        assertThat(nobody.call(WHO, XdrEncodable.VOID, XdrReader::readInt).join()).isEqualTo(-1);
        assertThat(users.call(WHO, XdrEncodable.VOID, XdrReader::readInt).join()).isEqualTo(1000);
        assertThat(users.call(WHO, XdrEncodable.VOID, XdrReader::readInt).join()).isEqualTo(1001);
        assertThatThrownBy(() -> users.call(WHO)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @ParameterizedTest
    @EnumSource
    void eachStatusIsAnException(Carrier carrier) throws Exception {
        RpcTransport transport = transport(carrier, serve(carrier));
        RpcClient client = new RpcClient(transport, PROGRAM, 2);
        RpcStatusException mismatch = failure(new RpcClient(transport, PROGRAM, 3).call(ADD));
        assertThat(mismatch.status()).isEqualTo(Status.PROG_MISMATCH);
        assertThat(mismatch.low()).isEqualTo(2);
        assertThat(mismatch.high()).isEqualTo(2);
        assertThat(mismatch)
                .hasMessage(
                        "the server has versions 2 to 2 of program 536870913, not 3"
                                + " (PROG_MISMATCH)");
        assertThat(failure(new RpcClient(transport, 7, 2).call(ADD)).status())
                .isEqualTo(Status.PROG_UNAVAIL);
        assertThat(failure(client.call(99)).status()).isEqualTo(Status.PROC_UNAVAIL);
        assertThat(failure(client.call(ADD)).status()).isEqualTo(Status.GARBAGE_ARGS);
        assertThat(failure(client.call(FAIL)).status()).isEqualTo(Status.SYSTEM_ERR);
        RpcStatusException weak = failure(client.call(WEAK));
        assertThat(weak.status()).isEqualTo(Status.AUTH_ERROR);
        assertThat(weak.authStatus()).isEqualTo(RpcServerAuthenticator.AUTH_TOOWEAK);
        assertThat(weak.low() + weak.high()).isZero();
        // The connection is unharmed.
        assertThat(client.call(ADD, out -> out.writeInt(3).writeInt(4), XdrReader::readInt).join())
                .isEqualTo(7);
    }

    private static RpcStatusException failure(RpcFuture<?> call) {
        AtomicReference<RpcStatusException> failure = new AtomicReference<>();
        assertThatThrownBy(call::join)
                .isInstanceOfSatisfying(RpcStatusException.class, failure::set);
        return failure.get();
    }

    @ParameterizedTest
    @EnumSource
    void resultsThatCannotBeReadFailTheCall(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        assertThatThrownBy(client.call(SHORT, XdrEncodable.VOID, XdrReader::readLong)::join)
                .isInstanceOf(MalformedXdrException.class)
                .hasMessage("ends after 4 bytes (expected: 8)");
    }

    @ParameterizedTest
    @EnumSource
    void argumentsThatCannotBeWrittenAreReleased(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        ByteBuf item = Unpooled.buffer().writeInt(1);
        assertThatThrownBy(
                        () ->
                                client.call(
                                        ADD,
                                        out -> {
                                            out.writeItem(item);
                                            throw new IllegalStateException("no more");
                                        }))
                .hasMessage("no more");
        assertThat(item.refCnt()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void argumentsThatCannotBeJoinedWithTheirHeaderAreReleasedOnce(Carrier carrier)
            throws Exception {
        RpcClient client = client(carrier);
        ByteBuf arguments = ScarceMemory.longest().retain();
        assertThatThrownBy(() -> client.call(ECHO, arguments))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(arguments.refCnt()).isOne();
        arguments.release();
    }

    /** By a Write chunk that the binding of the server knows nothing of, which is the caller's choice. */
    @Test
    void aResultThatIsNotEligibleIsASystemError() throws Exception {
        RpcClient client = client(Carrier.RDMA);
        ByteBuf whole = client.call(ITEM).join();
        assertThat(whole.readableBytes()).isEqualTo(4 + 8000);
        whole.release();
        for (int i = 0; i < 3; i++) {
            RpcMessage call = client.newCall(ITEM, XdrEncodable.VOID);
            call.addSink(Unpooled.directBuffer(8000));
            assertThat(failure(client.call(call)).status()).isEqualTo(Status.SYSTEM_ERR);
        }
        assertThat(client.call(ADD, out -> out.writeInt(3).writeInt(4), XdrReader::readInt).join())
                .isEqualTo(7);
    }

    @ParameterizedTest
    @EnumSource
    void aPreparedMessageIsACall(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        RpcMessage call = client.newCall(ADD, out -> out.writeInt(1).writeInt(1));
        RpcMessage reply = client.call(call.maximumReply(64)).join();
        assertThat(reply.content().readInt()).isEqualTo(2);
        reply.release();
        assertThat(failure(client.call(client.newCall(99, XdrEncodable.VOID))).status())
                .isEqualTo(Status.PROC_UNAVAIL);
    }

    @ParameterizedTest
    @EnumSource
    void aMarshallerBuildsTheCallWithItsXid(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        int sum =
                client.call(
                                (int xid) -> {
                                    ByteBuf call = Unpooled.buffer();
                                    new CallHeader(
                                                    xid,
                                                    PROGRAM,
                                                    2,
                                                    ADD,
                                                    OpaqueAuth.NONE,
                                                    OpaqueAuth.NONE)
                                            .writeTo(call);
                                    return call.writeInt(5).writeInt(6);
                                },
                                (verifier, in) -> in.readInt() + verifier.flavor())
                        .join();
        assertThat(sum).isEqualTo(11);
        assertThatThrownBy(
                        client.call(
                                        (int xid) -> {
                                            throw new IllegalStateException("no context");
                                        },
                                        (verifier, in) -> 0)
                                ::join)
                .isInstanceOf(MarshalException.class);
    }

    @ParameterizedTest
    @EnumSource
    void repliesComeInAnyOrderFromAnyThread(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        RpcFuture<Integer> first = client.call(WAIT, XdrEncodable.VOID, XdrReader::readInt);
        RpcServerCall firstCall = waiting.take();
        RpcFuture<Integer> second = client.call(WAIT, XdrEncodable.VOID, XdrReader::readInt);
        waiting.take().reply(out -> out.writeInt(2));
        assertThat(second.join()).isEqualTo(2);
        assertThat(first.isDone()).isFalse();
        firstCall.reply(out -> out.writeInt(1));
        assertThat(first.join()).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource
    void aCallHasATimeOut(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        CallOptions hasty = CallOptions.DEFAULT.withTimeout(Duration.ofMillis(1));
        assertThatThrownBy(client.withOptions(hasty).call(WAIT)::join)
                .isInstanceOf(CallTimeoutException.class);
    }

    @ParameterizedTest
    @EnumSource
    void aStageIsAFutureOfACall(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        CompletableFuture<Integer> sum =
                client.call(ADD, out -> out.writeInt(3).writeInt(4), XdrReader::readInt)
                        .toCompletableFuture()
                        .thenApply(value -> value + 1);
        assertThat(sum.get()).isEqualTo(8);
        RpcFuture<ByteBuf> call = client.call(WAIT);
        CompletableFuture<ByteBuf> stage = call.toCompletableFuture();
        RpcServerCall served = waiting.take();
        assertThat(stage.cancel(true)).isTrue();
        assertThat(call.isCancelled()).isTrue();
        served.reply(out -> out.writeInt(2));
        assertThatThrownBy(call::join).isInstanceOf(CancellationException.class);
        assertThatThrownBy(client.call(99).toCompletableFuture()::join)
                .hasCauseInstanceOf(RpcStatusException.class);
    }

    @ParameterizedTest
    @EnumSource
    void aThreadThatIsInterruptedGivesItsCallUp(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        RpcFuture<ByteBuf> call = client.call(WAIT);
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(call::join).isInstanceOf(InterruptedIOException.class);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(call.isCancelled()).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void theEventLoopDoesNotWaitForItself(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        RpcFuture<ByteBuf> call = client.call(WAIT);
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        client.call(0)
                .addListener(
                        done -> {
                            ((ByteBuf) done.getNow()).release();
                            try {
                                call.join();
                            } catch (Exception e) {
                                thrown.complete(e);
                            }
                        });
        assertThat(thrown.get())
                .isInstanceOf(io.netty.util.concurrent.BlockingOperationException.class);
        call.cancel(false);
    }

    @ParameterizedTest
    @EnumSource
    void theEndOfTheTransportEndsItsCalls(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        RpcFuture<ByteBuf> call = client.call(WAIT);
        RpcServerCall served = waiting.take();
        ((Closeable) client.transport()).close();
        assertThatThrownBy(call::join).isInstanceOf(ConnectionLostException.class);
        assertThatThrownBy(client.call(WAIT)::join).isInstanceOf(ConnectionLostException.class);
        served.reply();
    }

    /** The event loop takes no tasks any more, and has not ended yet. */
    @ParameterizedTest
    @EnumSource
    void aCallInTheLastMomentOfTheEventLoopFails(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        ((Closeable) client.transport()).close();
        EventLoopGroup loop = carrier == Carrier.RDMA ? rdma : tcp;
        CountDownLatch ending = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(1);
        FastThreadLocal<Object> last =
                new FastThreadLocal<>() {
                    @Override
                    protected void onRemoval(Object value) throws Exception {
                        ending.countDown();
                        called.await();
                    }
                };
        loop.submit(() -> last.set(this)).sync();
        loop.shutdownGracefully(0, 60, TimeUnit.SECONDS);
        ending.await();
        RpcFuture<ByteBuf> call = client.call(WAIT);
        called.countDown();
        assertThat(call.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(call.cause()).isInstanceOf(ConnectionLostException.class);
    }

    @ParameterizedTest
    @EnumSource
    void nobodyListening(Carrier carrier) throws Exception {
        InetSocketAddress nobody = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
        assertThatThrownBy(() -> transport(carrier, nobody)).isInstanceOf(ConnectException.class);
    }

    @ParameterizedTest
    @EnumSource(names = "TCP")
    void aStreamThatItsServerClosesFailsItsCalls(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        RpcFuture<ByteBuf> call = client.call(WAIT);
        RpcServerCall served = waiting.take();
        accepted.get(0).close().sync();
        assertThatThrownBy(call::join)
                .isInstanceOf(ConnectionLostException.class)
                .hasMessageContaining("may have executed");
        served.reply();
        assertThat(((StreamRpcTransport) client.transport()).outstandingCalls()).isZero();
    }

    @ParameterizedTest
    @EnumSource(names = "TCP")
    void anItemIsWrittenFromItsOwnMemory(Carrier carrier) throws Exception {
        RpcClient client = client(carrier);
        ByteBuf item = Unpooled.wrappedBuffer(new byte[] {1, 2, 3, 4, 5});
        ByteBuf results =
                client.call(ECHO, out -> out.writeInt(9).writeItem(item).writeInt(8)).join();
        XdrReader in = new XdrReader(results);
        assertThat(in.readInt()).isEqualTo(9);
        assertThat(in.readOpaque(5)).isEqualTo(new byte[] {1, 2, 3, 4, 5});
        assertThat(in.readInt()).isEqualTo(8);
        results.release();
        assertThat(item.refCnt()).isZero();
    }
}
