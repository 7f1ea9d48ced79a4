// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.verify;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.RejectedException;

/** How connections begin and end. */
final class ConnectionChecks extends Checks {

    private final InetAddress address;

    ConnectionChecks(Ends ends, InetAddress address) {
        super(ends);
        this.address = address;
    }

    @Override
    List<Check> all() {
        return List.of(
                new Check(
                        "private data goes with request and answer",
                        with -> with.maxPrivateData() > 0 && with.privateDataOnAccept(),
                        this::privateData),
                new Check(
                        "where nobody listens a connection is refused",
                        Checks::always,
                        this::nobody),
                new Check("a rejection is told", Checks::always, this::rejection),
                new Check(
                        "a rejection carries data",
                        DeviceCapabilities::rejectWithData,
                        this::rejectionWithData),
                new Check("what is posted is sent before the end", Checks::always, this::draining),
                new Check("many connections come and go", Checks::always, this::manyConnections),
                new Check(
                        "a connection may live on another event loop than its listener",
                        Checks::always,
                        this::otherLoop),
                new Check(
                        "a connect that is not answered is given up, beside a connection that"
                                + " lives",
                        Checks::always,
                        this::givenUp),
                new Check(
                        "a connection may be closed in every state",
                        Checks::always,
                        this::closedInEveryState));
    }

    private void privateData() throws IOException {
        byte[] asked = new byte[can.maxPrivateData()];
        random.nextBytes(asked);
        byte[] answered = asked.clone();
        answered[0]++;
        near = ends.connecting(BYTES, ends.listener.localAddress(), asked);
        ConnectionRequest request = ends.request();
        // InfiniBand fills up with zeros what is not the longest.
        require(
                Arrays.equals(Arrays.copyOf(request.privateData(), asked.length), asked),
                "the request carried other data than was given");
        far = ends.newEnd(ends.far, BYTES);
        far.queuePair = ends.far.createQueuePair(request, ends.size, far);
        far.queuePair.accept(answered);
        ends.established(near, far);
        require(
                Arrays.equals(Arrays.copyOf(near.peerData, answered.length), answered),
                "the answer carried other data than was given");
    }

    private void requireFailure(End end, Class<? extends Throwable> type) {
        ends.until("the failure", () -> end.failure != null || end.peerData != null);
        require(end.failure != null, "the connection was made");
        require(type.isInstance(end.failure), "what was told is " + end.failure);
    }

    private void nobody() throws IOException {
        requireFailure(
                ends.connecting(BYTES, ends.unheardAddress(address)), ConnectException.class);
    }

    private void rejection() throws IOException {
        End end = ends.connecting(BYTES, ends.listener.localAddress());
        ends.request().reject(Ends.NO_DATA);
        requireFailure(end, ConnectException.class);
    }

    private void rejectionWithData() throws IOException {
        End end = ends.connecting(BYTES, ends.listener.localAddress());
        byte[] data = {1, 2, 3, 4};
        ends.request().reject(data);
        requireFailure(end, RejectedException.class);
        byte[] came = ((RejectedException) end.failure).privateData();
        require(
                Arrays.equals(Arrays.copyOf(came, data.length), data),
                "the rejection carried other data than was given");
    }

    private void draining() throws IOException {
        connect();
        far.receive(1, 0, HALF);
        ends.far.poll(1);
        byte[] sent = fill(near, 0, HALF);
        near.send(2, 0, HALF);
        near.queuePair.disconnect();
        ends.until("the end of the connection", () -> near.hasEnded && far.hasEnded);
        require(near.isComplete(2) && far.isComplete(1), "the message was lost");
        requireSuccess(far, 1);
        requireSame(far, 0, sent);
    }

    private void manyConnections() throws IOException {
        for (int round = 0; round < MANY; round++) {
            connect();
            End first = round % 2 == 0 ? near : far;
            End second = round % 2 == 0 ? far : near;
            first.queuePair.close();
            ends.until("the end of the connection", () -> second.hasEnded);
            ends.closeAll();
        }
    }

    /** A message each way. */
    private void exchange() {
        for (End sender : new End[] {near, far}) {
            End receiver = sender == near ? far : near;
            receiver.receive(1, 0, HALF);
            ends.near.poll(1);
            ends.far.poll(1);
            byte[] sent = fill(sender, HALF, 1000);
            sender.send(2, HALF, 1000);
            ends.until("a message", () -> receiver.isComplete(1) && sender.isComplete(2));
            requireSuccess(sender, 2);
            requireSuccess(receiver, 1);
            requireSame(receiver, 0, sent);
        }
    }

    private void otherLoop() throws IOException {
        near = ends.connecting(BYTES, ends.listener.localAddress());
        far = ends.accept(ends.near, BYTES);
        ends.established(near, far);
        exchange();
    }

    private void givenUp() throws IOException {
        connect();
        End waiting = ends.connecting(BYTES, ends.listener.localAddress());
        ConnectionRequest unanswered = ends.request();
        waiting.queuePair.disconnect();
        exchange();
        requireFailure(waiting, IOException.class);
        unanswered.reject(Ends.NO_DATA);
        exchange();
    }

    private void closedInEveryState() throws IOException {
        End idle = ends.newEnd(ends.near, BYTES);
        idle.queuePair = ends.near.createQueuePair(ends.size, idle);
        idle.queuePair.close();

        ends.connecting(BYTES, ends.unheardAddress(address)).queuePair.close();

        ends.connecting(BYTES, ends.listener.localAddress());
        ConnectionRequest first = ends.request();
        ends.closeAll();
        first.reject(Ends.NO_DATA);

        near = ends.connecting(BYTES, ends.listener.localAddress());
        End asked = ends.newEnd(ends.far, BYTES);
        asked.queuePair = ends.far.createQueuePair(ends.request(), ends.size, asked);
        asked.queuePair.close();
        requireFailure(near, IOException.class);

        connect();
        End peer = far;
        near.receive(1, 0, HALF);
        near.send(2, HALF, HALF); // the peer has no receive for it
        near.queuePair.close();
        ends.until("the end of the connection", () -> peer.hasEnded);

        connect();
        near.queuePair.disconnect();
        ends.until("the end of the connection", () -> near.hasEnded && far.hasEnded);
        ends.closeAll();

        connect();
        exchange();
    }
}
