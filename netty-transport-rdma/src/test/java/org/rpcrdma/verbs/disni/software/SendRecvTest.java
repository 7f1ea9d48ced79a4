// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.RdmaActiveEndpoint;
import com.ibm.disni.RdmaActiveEndpointGroup;
import com.ibm.disni.RdmaServerEndpoint;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.IbvWC.IbvWcOpcode;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.SVCPostSend;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.LinkedList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * A program of DiSNI's, after the SendRecv and Read examples that it comes with: endpoint groups with threads of their
 * own, an endpoint that registers and posts before it is connected, a message each way, and an RDMA Read. Nothing but
 * the first line of the test is not as on hardware.
 */
class SendRecvTest {

    private static final int TIMEOUT_MILLIS = 1000;

    /** As the examples': what completes is put into a queue. */
    private static final class Endpoint extends RdmaActiveEndpoint {

        private final BlockingQueue<IbvWcOpcode> events = new LinkedBlockingQueue<>();
        private final ByteBuffer sendBuffer = ByteBuffer.allocateDirect(100);
        private final ByteBuffer receiveBuffer = ByteBuffer.allocateDirect(100);
        private final ByteBuffer dataBuffer = ByteBuffer.allocateDirect(100);
        private IbvMr sendRegion;
        private IbvMr receiveRegion;
        private IbvMr dataRegion;

        Endpoint(RdmaActiveEndpointGroup<Endpoint> group, RdmaCmId id, boolean isServer)
                throws IOException {
            super(group, id, isServer);
        }

        @Override
        public synchronized void init() throws IOException {
            super.init();
            sendRegion = registerMemory(sendBuffer).execute().free().getMr();
            receiveRegion = registerMemory(receiveBuffer).execute().free().getMr();
            dataRegion = registerMemory(dataBuffer).execute().free().getMr();
            IbvRecvWR receive = new IbvRecvWR();
            receive.setWr_id(2001);
            receive.setSg_list(ranges(receiveRegion));
            postRecv(List.of(receive)).execute().free();
        }

        @SuppressWarnings({"JdkObsolete", "NonApiType"}) // DiSNI asks for a LinkedList
        private static LinkedList<IbvSge> ranges(IbvMr region) {
            IbvSge range = new IbvSge();
            range.setAddr(region.getAddr());
            range.setLength(region.getLength());
            range.setLkey(region.getLkey());
            return new LinkedList<>(List.of(range));
        }

        @Override
        public void dispatchCqEvent(IbvWC completion) {
            assertThat(completion.getStatus()).isZero();
            events.add(IbvWcOpcode.valueOf(completion.getOpcode()));
        }

        IbvWcOpcode event() throws InterruptedException {
            return events.poll(30, TimeUnit.SECONDS);
        }

        void send() throws IOException {
            IbvSendWR send = new IbvSendWR();
            send.setWr_id(2000);
            send.setSg_list(ranges(sendRegion));
            send.setOpcode(IbvSendWR.IBV_WR_SEND);
            send.setSend_flags(IbvSendWR.IBV_SEND_SIGNALED);
            SVCPostSend call = postSend(List.of(send));
            call.getWrMod(0).setWr_id(4444);
            call.execute().free();
        }

        void read(long address, int key) throws IOException {
            IbvSendWR read = new IbvSendWR();
            read.setSg_list(ranges(dataRegion));
            read.setOpcode(IbvSendWR.IBV_WR_RDMA_READ);
            read.setSend_flags(IbvSendWR.IBV_SEND_SIGNALED);
            read.getRdma().setRemote_addr(address);
            read.getRdma().setRkey(key);
            postSend(List.of(read)).execute().free();
        }

        @Override
        public synchronized void close() throws IOException, InterruptedException {
            super.close();
            deregisterMemory(sendRegion);
            deregisterMemory(receiveRegion);
            deregisterMemory(dataRegion);
        }
    }

    private static RdmaActiveEndpointGroup<Endpoint> newGroup() throws IOException {
        RdmaActiveEndpointGroup<Endpoint> group =
                new RdmaActiveEndpointGroup<>(TIMEOUT_MILLIS, false, 128, 4, 128);
        group.init((id, isServer) -> new Endpoint(group, id, isServer));
        return group;
    }

    @Test
    void disnisOwnProgramsRunWithoutHardware() throws Exception {
        SoftwareRdmaProvider device = SoftwareRdmaProvider.install();
        long registered = device.registeredBytes();

        RdmaActiveEndpointGroup<Endpoint> serverGroup = newGroup();
        RdmaServerEndpoint<Endpoint> listener = serverGroup.createServerEndpoint();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 10);
        CompletableFuture<Endpoint> accepted =
                CompletableFuture.supplyAsync(
                        () -> {
                            try {
                                return listener.accept();
                            } catch (IOException e) {
                                throw new IllegalStateException(e);
                            }
                        });
        RdmaActiveEndpointGroup<Endpoint> clientGroup = newGroup();
        Endpoint client = clientGroup.createEndpoint();
        client.connect(listener.getSrcAddr(), TIMEOUT_MILLIS);
        Endpoint server = accepted.get(30, TimeUnit.SECONDS);

        client.sendBuffer.asCharBuffer().put("Hello from the client");
        client.send();
        assertThat(client.event()).isEqualTo(IbvWcOpcode.IBV_WC_SEND);
        assertThat(server.event()).isEqualTo(IbvWcOpcode.IBV_WC_RECV);
        assertThat(server.receiveBuffer.asCharBuffer().toString())
                .startsWith("Hello from the client");

        server.dataBuffer.asCharBuffer().put("This is a RDMA/read on stag !");
        server.sendBuffer.putLong(server.dataRegion.getAddr()).putInt(server.dataRegion.getRkey());
        server.send();
        assertThat(server.event()).isEqualTo(IbvWcOpcode.IBV_WC_SEND);
        assertThat(client.event()).isEqualTo(IbvWcOpcode.IBV_WC_RECV);
        client.read(client.receiveBuffer.getLong(), client.receiveBuffer.getInt());
        assertThat(client.event()).isEqualTo(IbvWcOpcode.IBV_WC_RDMA_READ);
        assertThat(client.dataBuffer.asCharBuffer().toString())
                .startsWith("This is a RDMA/read on stag !");

        client.close();
        clientGroup.close();
        server.close();
        listener.close();
        serverGroup.close();
        assertThat(device.registeredBytes()).isEqualTo(registered);
        // DiSNI destroys the channel before its queue, which fails and leaks it, on hardware too.
        assertThat(device.problems())
                .isNotEmpty()
                .allMatch("A completion channel was destroyed before its queue"::equals);
        device.forgetProblems();
    }
}
