// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.Step;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.verbs.WorkStatus;

/** RFC 8166, 4.5.3: a call that has ended a connection does not get a second one. */
class FatalCallXidCacheTest {

    private final AtomicLong now = new AtomicLong();
    private final FatalCallXidCache xids = new FatalCallXidCache(now::get);

    private static InetAddress address(int last) throws Exception {
        return InetAddress.getByAddress(new byte[] {10, 0, (byte) (last >> 8), (byte) last});
    }

    @Test
    @Proves("V1-ERR-18")
    void remembersByClientAndForgetsInTime() throws Exception {
        assertThat(xids.contains(address(1), 7)).isFalse();
        xids.add(address(1), 7);
        now.addAndGet(FatalCallXidCache.LIFETIME_NANOS);
        xids.add(address(1), 8);
        assertThat(xids.contains(address(1), 7)).isTrue();
        assertThat(xids.contains(address(2), 7)).isFalse();
        now.incrementAndGet();
        assertThat(xids.contains(address(1), 7)).isFalse();
        assertThat(xids.contains(address(1), 8)).isTrue();
        now.addAndGet(FatalCallXidCache.LIFETIME_NANOS);
        assertThat(xids.contains(address(1), 8)).isFalse();
    }

    @Test
    @Proves({"V1-ERR-18", "SEC-15"})
    void clientsAndXidsAreBounded() throws Exception {
        for (int i = 0; i < FatalCallXidCache.XIDS_PER_CLIENT + 3; i++) {
            xids.add(address(1), i);
        }
        assertThat(xids.contains(address(1), 2)).isFalse();
        assertThat(xids.contains(address(1), 3)).isTrue();
        assertThat(xids.contains(address(1), FatalCallXidCache.XIDS_PER_CLIENT + 2)).isTrue();
        for (int i = 0; i < FatalCallXidCache.CLIENTS; i++) {
            xids.add(address(1000 + i), 5);
        }
        assertThat(xids.contains(address(1), 3)).isFalse();
        assertThat(xids.contains(address(1000), 5)).isTrue();
    }

    @Test
    @Proves("V1-ERR-18")
    void isSafeAcrossEventLoops() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Callable<Boolean>> work = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                InetAddress client = address(i);
                work.add(
                        () -> {
                            boolean found = true;
                            for (int xid = 0; xid < 1000; xid++) {
                                xids.add(client, xid);
                                found &= xids.contains(client, xid);
                            }
                            return found;
                        });
            }
            for (Future<Boolean> done : threads.invokeAll(work)) {
                assertThat(done.get()).isTrue();
            }
        } finally {
            threads.shutdown();
        }
    }

    @Test
    @Proves({"V1-ERR-18", "V1-ERR-17"})
    void callWhoseReadFailedIsRefusedOnTheNextConnection() throws Exception {
        CodecEnd server = CodecEnd.of(RpcRdmaConfig.defaults());
        CrossConnectionPeerState memory = new CrossConnectionPeerState();
        for (int attempt = 0; attempt < 3; attempt++) {
            try (RpcPair pair = RpcPair.rawClient(RpcRdmaConfig.defaults(), server, memory)) {
                TransportHeader header = new TransportHeader().set(5, 32, 1);
                header.reads().add(0, 0xDEAD, 4000, 0x1000);
                pair.call(encoded(header));
                if (attempt == 0) {
                    assertThat(pair.client.awaitInactive()).isTrue();
                    continue;
                }
                ByteBuf answer = pair.client.takeBuffer();
                assertThat(answer.readableBytes()).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
                assertThat(answer.getInt(16)).isEqualTo(RdmaErrorMessage.ERR_CHUNK);
                answer.release();
                // The same XID without chunks is another call, and harmless.
                ByteBuf harmless = encoded(new TransportHeader().set(5, 32, 0));
                ByteBuf echo = Rpc.echo(5, 0);
                pair.call(harmless.writeBytes(echo));
                echo.release();
                assertThat(pair.server.takeXid()).isEqualTo(5);
                pair.reply(Rpc.reply(5));
                pair.client.takeBytes();
            }
        }
        assertThat(server.metrics().value(RpcRdmaCounter.FATAL_XIDS_REFUSED)).isEqualTo(2);
    }

    private static ByteBuf encoded(TransportHeader header) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        return out;
    }

    @ParameterizedTest
    @EnumSource(
            value = Form.class,
            names = {"READ_CHUNK", "WRITE_CHUNK", "LONG_REPLY"})
    @Proves({"V1-ERR-18", "V1-ERR-17", "V1-ERR-19"})
    void callWhoseWorkFailedIsRefusedOnTheNextConnection(Form form) throws Exception {
        RpcRdmaConfig responder = RpcRdmaConfig.builder().grantedCredits(4).build();
        int xid = form.xids();
        try (FaultPair pair = new FaultPair()) {
            pair.memory = new CrossConnectionPeerState();
            try (FaultPair.Connection first = connect(pair, responder, form)) {
                first.plan(Role.RESPONDER, new FailFirstWork(WorkStatus.REMOTE_ACCESS_ERROR));
                first.expectCalls(1);
                first.call(form.call(xid));
                first.outcomes();
                first.responder.closeFuture().sync();
            }
            try (FaultPair.Connection second = connect(pair, responder, form)) {
                second.expectCalls(2);
                second.call(form.call(xid), form.call(xid + 1));
                assertThat(second.outcomes().get(xid)).contains("ErrChunkReplyException");
                assertThat(second.outcomes()).containsEntry(xid + 1, "replied");
            }
        }
    }

    @Test
    @Proves("V1-ERR-18")
    void callsThatWereOnlyFlushedAreNotToBlame() throws Exception {
        RpcRdmaConfig responder = RpcRdmaConfig.builder().grantedCredits(4).build();
        int xid = Form.READ_CHUNK.xids();
        try (FaultPair pair = new FaultPair()) {
            pair.memory = new CrossConnectionPeerState();
            try (FaultPair.Connection first = connect(pair, responder, Form.READ_CHUNK)) {
                first.plan(Role.RESPONDER, new FailFirstWork(WorkStatus.FLUSHED));
                first.expectCalls(1);
                first.call(Form.READ_CHUNK.call(xid));
                first.responder.close().sync();
                first.outcomes();
            }
            try (FaultPair.Connection second = connect(pair, responder, Form.READ_CHUNK)) {
                second.expectCalls(1);
                second.call(Form.READ_CHUNK.call(xid));
                assertThat(second.outcomes()).containsEntry(xid, "replied");
            }
        }
    }

    private static FaultPair.Connection connect(FaultPair pair, RpcRdmaConfig responder, Form form)
            throws Exception {
        return pair.connect(Enumeration.requester(), responder, call -> form.reply(Rpc.xid(call)));
    }

    private static final class FailFirstWork implements FaultPlan {
        private final WorkStatus status;

        FailFirstWork(WorkStatus status) {
            this.status = status;
        }

        @Override
        public void before(Step step) {
            // Nothing is refused.
        }

        @Override
        public WorkStatus status(Step step) {
            return step == Step.WORK_DONE ? status : WorkStatus.SUCCESS;
        }
    }
}
