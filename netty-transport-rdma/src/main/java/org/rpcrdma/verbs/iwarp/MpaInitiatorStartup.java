// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.RejectedException;
import org.rpcrdma.verbs.iwarp.mpa.FpduLayout;
import org.rpcrdma.verbs.iwarp.mpa.MarkerInserter;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrameReader;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupSettings;
import org.rpcrdma.verbs.iwarp.mpa.StreamError;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;
import org.rpcrdma.verbs.iwarp.rdmap.Terminate;
import org.rpcrdma.verbs.iwarp.shared.PrivateDataTrailer;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFile;

/** The start-up of an initiator: TCP connection, MPA Request, MPA Reply (RFC 5044, 7.1.2). */
final class MpaInitiatorStartup implements SelectionKeyHandler, DeadlineTask, AutoCloseable {

    /** Owner of a start-up; receives its outcome once. */
    interface Owner {

        /** The peer has accepted. */
        void established(
                SocketChannel channel,
                SelectionKey key,
                SharedRingFile shared,
                MpaNegotiation agreed,
                byte[] privateData);

        void connectFailed(Throwable cause);
    }

    private final IwarpContextResources loop;
    private final Owner owner;
    private final InetSocketAddress remote;
    private MpaStartupFrame request;
    private ByteBuffer requestBytes;
    private SharedMemoryNegotiation.Offered offered;
    private final MpaStartupFrameReader reader = new MpaStartupFrameReader(false);
    private final long timeoutNanos;
    private SocketChannel channel;
    private SelectionKey key;
    private boolean connected;
    private MpaStartupFrame reply;
    private boolean done;
    private long deadline;

    MpaInitiatorStartup(
            IwarpContextResources loop,
            Owner owner,
            QueuePairConfig size,
            InetSocketAddress remote,
            byte[] privateData,
            long timeoutNanos) {
        this.loop = loop;
        this.owner = owner;
        this.remote = remote;
        this.timeoutNanos = timeoutNanos;
        MpaStartupSettings options = loop.config.mpa();
        this.request =
                MpaNegotiation.request(
                        options,
                        size.inboundReads(),
                        size.outboundReads(),
                        options.checked(privateData, options.revision() >= 2));
        loop.startups.add(this);
        startTimer();
    }

    /**
     * Starts; a failure is reported like a later one.
     *
     * @param bound a socket that is bound already, or {@code null}
     * @param local the address to bind another one to, or {@code null}
     */
    void start(SocketChannel bound, InetSocketAddress local) {
        channel = bound;
        try {
            if (remote.isUnresolved()) {
                throw new UnknownHostException(
                        "Host '" + remote.getHostString() + "' is not known");
            }
            if (channel == null) {
                channel =
                        loop.host
                                .sockets()
                                .openSocketChannel(
                                        remote.getAddress() instanceof Inet6Address
                                                ? StandardProtocolFamily.INET6
                                                : StandardProtocolFamily.INET);
                Sockets.configure(channel, loop.config);
                if (local != null) {
                    channel.bind(local);
                }
            }
            key = loop.poller.register(channel, SelectionKey.OP_CONNECT, this);
            if (channel.connect(remote)) {
                tcpConnected();
            }
        } catch (IOException | RuntimeException e) {
            failed(e);
        }
    }

    private void startTimer() {
        if (timeoutNanos > 0) {
            deadline = loop.nanoTime() + timeoutNanos;
            loop.timers.add(this);
        }
    }

    private void tcpConnected() throws IOException {
        connected = true;
        loop.timers.remove(this);
        startTimer();
        byte[] data = request.privateData();
        int room = loop.config.mpa().maxPrivateData(request.enhanced()) - data.length;
        offered = loop.sharedWire.offer(channel, room);
        if (offered != null) {
            request = request.with(offered.offer().appendTo(data));
        }
        requestBytes = ByteBuffer.wrap(request.encode());
        sendRequest();
    }

    private void sendRequest() throws IOException {
        channel.write(requestBytes);
        key.interestOps(requestBytes.hasRemaining() ? SelectionKey.OP_WRITE : SelectionKey.OP_READ);
    }

    @Override
    public void ready(int operations) throws IOException {
        if (!connected) {
            if (channel.finishConnect()) {
                tcpConnected();
            }
        } else if (requestBytes.hasRemaining()) {
            sendRequest();
        } else {
            reply = readReply();
            if (reply != null) {
                conclude();
            }
        }
    }

    private MpaStartupFrame readReply() throws IOException {
        try {
            return reader.read(channel);
        } catch (StreamException e) {
            throw e;
        } catch (IOException e) {
            ConnectException refused =
                    new ConnectException(
                            "The peer "
                                    + remote
                                    + " did not accept the connection: "
                                    + e.getMessage()
                                    + "; check that an iWARP service listens there and is not"
                                    + " overloaded");
            refused.initCause(e);
            throw refused;
        }
    }

    private void conclude() throws IOException {
        if (reply.rejected()) {
            throw new RejectedException(
                    "The peer " + remote + " rejected the connection", privateData());
        }
        MpaNegotiation agreed = MpaNegotiation.conclude(request, reply, loop.config.mpa());
        SharedRingFile shared = offered == null ? null : offered.answered(reply.privateData());
        byte[] privateData = privateData();
        offered = null;
        finish();
        owner.established(channel, key, shared, agreed, privateData);
    }

    /** The peer's, as its user has sent them. */
    private byte[] privateData() {
        return offered == null
                ? reply.privateData()
                : PrivateDataTrailer.cutOff(reply.privateData());
    }

    @Override
    public void failed(Exception cause) {
        if (done) {
            return;
        }
        Exception told = cause;
        try {
            finish();
        } finally {
            // Nobody would do it later: for the owner this was all.
            try {
                if (cause instanceof StreamException refused) {
                    told = refuse(refused);
                } else if (channel != null) {
                    Sockets.close(channel);
                }
            } finally {
                owner.connectFailed(told);
            }
        }
    }

    /**
     * RFC 6581, 8: the initiator says why in a Terminate, which is then its only FPDU.
     *
     * @return what the owner is told
     */
    private Exception refuse(StreamException cause) {
        loop.counters.startupsRefused++;
        loop.counters.terminateSent(cause.error().layer());
        Exception told = cause;
        try {
            ConnectException failure =
                    new ConnectException(
                            "Start-up with " + remote + " failed: " + cause.getMessage());
            failure.initCause(cause);
            told = failure;
            ByteTransport carrier = loop.byteTransport(channel, key, null);
            new LingeringClose(loop, carrier, terminate(cause.error()));
        } catch (RuntimeException | Error e) {
            // Without memory for a Terminate the attempt ends as well.
            Sockets.close(channel);
            loop.log.warn("A Terminate to {} could not be sent: {}", remote, e);
        }
        return told;
    }

    /** The first and only FPDU. It has a CRC and a marker if what the frames agreed on so far wants them. */
    private ByteBuffer terminate(StreamError error) {
        byte[] ulpdu = Terminate.encode(error, null, null);
        boolean crc = request.crc() || (reply != null && reply.crc());
        return reply != null && reply.markers()
                ? MarkerInserter.frame(ulpdu, crc, 0)
                : FpduLayout.frame(ulpdu, crc);
    }

    @Override
    public long deadline() {
        return deadline;
    }

    @Override
    public void expired() {
        if (done) {
            return;
        }
        // Where memory is lacking for it, it is counted the next time.
        ConnectException late =
                new ConnectException(
                        "The peer "
                                + remote
                                + (connected
                                        ? " did not answer the MPA Request within "
                                        : " did not answer within ")
                                + TimeUnit.NANOSECONDS.toMillis(timeoutNanos)
                                + " ms; "
                                + (connected
                                        ? "check that an iWARP service listens there"
                                        : "check address and firewall"));
        loop.counters.startupsTimedOut++;
        failed(late);
    }

    private void finish() {
        done = true;
        loop.timers.remove(this);
        loop.startups.remove(this);
        if (offered != null) {
            SharedRingFile unused = offered.rings();
            offered = null;
            unused.close();
        }
    }

    /** Gives up; nothing is reported. */
    @Override
    public void close() {
        if (!done) {
            try {
                finish();
            } finally {
                if (channel != null) {
                    Sockets.close(channel);
                }
            }
        }
    }
}
