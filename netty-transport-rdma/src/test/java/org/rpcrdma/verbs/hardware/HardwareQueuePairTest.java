// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.internal.PlatformDependent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
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

        @Override
        public void connected(byte[] privateData) {
            heard.add("connected");
        }

        @Override
        public void connectFailed(Throwable cause) {
            heard.add(cause);
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            heard.add(status);
        }

        @Override
        public void disconnected(Throwable cause) {
            heard.add(cause.getMessage());
        }
    }

    /** A device that is gone completes nothing, and there is nothing to wait for. */
    @Test
    void aDeviceThatIsRemovedIsNotWaitedFor() throws Exception {
        try (HardwareEventLoopContext context =
                (HardwareEventLoopContext) new SoftwareDisniProvider().open()) {
            List<ConnectionRequest> requests = new ArrayList<>();
            InetSocketAddress address =
                    context.listen(
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
