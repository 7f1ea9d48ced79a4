// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

/** What a queue pair does in how many polls. */
class HardwareQueuePairTest {

    private static final QueuePairConfig SIZE = new QueuePairConfig(4, 4, 1, 1);

    private final SoftwareRdmaProvider device = SoftwareRdmaProvider.install();

    /** Writes down what it hears. */
    private static final class Ear implements QueuePairHandler {
        private final List<Object> heard = new ArrayList<>();

        /** Thrown by the next call, once. */
        private Error next;

        private void fail() {
            Error error = next;
            next = null;
            if (error != null) {
                throw error;
            }
        }

        @Override
        public void connected(byte[] privateData) {
            heard.add("connected");
            fail();
        }

        @Override
        public void connectFailed(Throwable cause) {
            heard.add(cause);
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            heard.add(status);
            fail();
        }

        @Override
        public void disconnected(Throwable cause) {
            heard.add(cause.getMessage());
        }
    }

    /** Two ends of a connection of one context. */
    private static final class Pair {
        private final HardwareEventLoopContext context;
        private final Ear active = new Ear();
        private final Ear passive = new Ear();
        private final QueuePair sender;
        private final MemoryRegion region;

        Pair(HardwareEventLoopContext context, Error whenConnected) throws Exception {
            this.context = context;
            List<ConnectionRequest> requests = new ArrayList<>();
            InetSocketAddress address = listen(context, requests);
            ByteBuffer memory = ByteBuffer.allocateDirect(10);
            region = context.register(memory, PlatformDependent.directBufferAddress(memory));
            sender = context.createQueuePair(SIZE, active);
            sender.connect(address, null, new byte[0]);
            while (requests.isEmpty()) {
                context.poll(8);
            }
            passive.next = whenConnected;
            QueuePair receiver = context.createQueuePair(requests.get(0), SIZE, passive);
            receiver.postReceive(1, region.address(), 10, region.localKey());
            receiver.postReceive(2, region.address(), 10, region.localKey());
            receiver.accept(new byte[0]);
            while (active.heard.isEmpty() || passive.heard.isEmpty()) {
                context.poll(8);
            }
        }

        void send() {
            sender.send(7, QueuePair.SIGNALED);
            sender.gather(region.address(), 10, region.localKey());
            sender.doorbell();
        }

        void awaitPassive(Object last) {
            while (!passive.heard.contains(last)) {
                context.poll(8);
            }
        }
    }

    static List<Error> errors() {
        return List.of(
                new OutOfMemoryError("no heap"),
                new StackOverflowError("no stack"),
                new LinkageError("no class"));
    }

    @ParameterizedTest
    @MethodSource("errors")
    void anErrorOfAHandlerEndsItsConnectionAlone(Error error) throws Exception {
        try (HardwareEventLoopContext context =
                (HardwareEventLoopContext) new SoftwareDisniProvider().open()) {
            Pair other = new Pair(context, null);
            Pair pair = new Pair(context, null);
            pair.passive.next = error;
            pair.send();
            other.send();
            pair.awaitPassive(error.getMessage());
            assertThat(pair.passive.heard)
                    .containsExactly(
                            "connected",
                            WorkStatus.SUCCESS,
                            WorkStatus.FLUSHED,
                            error.getMessage());
            other.awaitPassive(WorkStatus.SUCCESS);
            assertThat(other.passive.heard).containsExactly("connected", WorkStatus.SUCCESS);
            Pair early = new Pair(context, error);
            early.awaitPassive(error.getMessage());
        }
        assertThat(device.problems()).isEmpty();
    }

    /** What a connection has left to do, and what another one has. */
    @ParameterizedTest
    @MethodSource("errors")
    void anErrorOfADeferredTaskCostsNoOtherTask(Error error) {
        HardwareContextResources loop =
                new HardwareContextResources(
                        new FakeDevice(), new ProviderSettings("test.", "device", 0, 1));
        List<String> done = new ArrayList<>();
        loop.later(
                () -> {
                    throw error;
                });
        loop.later(() -> done.add("task"));
        assertThat(loop.runPending(8)).isEqualTo(2);
        loop.hasReceives(
                () -> {
                    throw error;
                });
        loop.hasReceives(() -> done.add("receives"));
        loop.postReceives();
        loop.deadlines()
                .add(
                        0,
                        () -> {
                            throw error;
                        });
        loop.deadlines().add(0, () -> done.add("deadline"));
        loop.deadlines().expire();
        assertThat(done).containsExactly("task", "receives", "deadline");
        loop.close();
    }

    private static InetSocketAddress listen(
            HardwareEventLoopContext context, List<ConnectionRequest> requests) throws IOException {
        return context.listen(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        1,
                        new ListenerHandler() {
                            @Override
                            public void connectionRequested(ConnectionRequest request) {
                                requests.add(request);
                            }

                            @Override
                            public void acceptFailed(Throwable cause) {
                                throw new AssertionError(cause);
                            }
                        })
                .localAddress();
    }

    /** A device that is gone completes nothing, and there is nothing to wait for. */
    @Test
    void aDeviceThatIsRemovedIsNotWaitedFor() throws Exception {
        try (HardwareEventLoopContext context =
                (HardwareEventLoopContext) new SoftwareDisniProvider().open()) {
            List<ConnectionRequest> requests = new ArrayList<>();
            InetSocketAddress address = listen(context, requests);
            Ear active = new Ear();
            HardwareQueuePair queuePair = (HardwareQueuePair) context.createQueuePair(SIZE, active);
            ByteBuffer memory = ByteBuffer.allocateDirect(10);
            MemoryRegion region =
                    context.register(memory, PlatformDependent.directBufferAddress(memory));
            queuePair.postReceive(1, region.address(), 10, region.localKey());
            queuePair.connect(address, null, new byte[0]);
            while (requests.isEmpty()) {
                context.poll(8);
            }
            Ear passive = new Ear();
            context.createQueuePair(requests.get(0), SIZE, passive).accept(new byte[0]);
            while (active.heard.isEmpty() || passive.heard.isEmpty()) {
                context.poll(8);
            }
            device.loseCompletions(true);
            queuePair.connection().happened(CmEvent.of(CmEvent.Type.DEVICE_REMOVAL, null));
            for (int i = 0; i < 3; i++) {
                context.poll(8);
            }
            assertThat(active.heard)
                    .containsExactly(
                            "connected",
                            WorkStatus.FLUSHED,
                            "The RDMA device of the connection with " + address + " is gone");
        } finally {
            device.loseCompletions(false);
        }
        assertThat(device.problems()).isEmpty();
    }
}
