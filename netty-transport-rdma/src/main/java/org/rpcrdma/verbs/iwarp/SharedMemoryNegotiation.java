// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.UUID;
import org.rpcrdma.verbs.iwarp.shared.SharedMemoryMappedAnswer;
import org.rpcrdma.verbs.iwarp.shared.SharedMemoryOffer;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFile;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFileFactory;

/**
 * Negotiates shared memory during start-up, in trailers behind the private data. Whatever is in the way, they
 * silently stay with TCP.
 */
final class SharedMemoryNegotiation {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(SharedMemoryNegotiation.class);

    /** Content of the file before the responder writes its nonce. */
    private static final UUID NONE = new UUID(0, 0);

    /** Where files are, {@code null} when there is to be no shared memory. */
    private final SharedRingFileFactory memory;

    private final int ringBytes;

    SharedMemoryNegotiation(IwarpConfig config) {
        this(config.sharedMemory() ? open(config) : null, config.sharedRingBytes());
    }

    SharedMemoryNegotiation(SharedRingFileFactory memory, int ringBytes) {
        this.memory = memory;
        this.ringBytes = ringBytes;
    }

    private static SharedRingFileFactory open(IwarpConfig config) {
        try {
            Path directory = config.sharedDirectory();
            return new SharedRingFileFactory(
                    directory == null ? SharedRingFileFactory.standardDirectory() : directory);
        } catch (IOException | RuntimeException e) {
            LOGGER.warn("There is no shared memory, connections of this host use TCP", e);
            return null;
        }
    }

    /** Announcement of an initiator. */
    record Offered(SharedMemoryOffer offer, InetSocketAddress to, SharedRingFile rings) {

        /**
         * Completes the negotiation.
         *
         * @param privateData of the Reply
         * @return the memory, or {@code null}: it is closed then, and TCP carries the stream
         * @throws IOException when the peer has mapped something else, or cut the file short
         */
        SharedRingFile answered(byte[] privateData) throws IOException {
            SharedMemoryMappedAnswer answer = SharedMemoryMappedAnswer.of(privateData);
            rings.unlink();
            if (answer == null) {
                LOGGER.debug(
                        "{} did not take the shared memory that was announced, TCP is used; see its"
                                + " log, and whether the option is on there",
                        to);
                rings.close();
                return null;
            }
            if (answer.nonce().equals(NONE) || !answer.nonce().equals(rings.respondersNonce())) {
                throw new ConnectException(
                        "The peer says that it has mapped the shared memory, but has not");
            }
            return rings;
        }
    }

    /**
     * Announces memory to a peer on this machine.
     *
     * @param room the bytes that the private data leave
     * @return {@code null} to use TCP
     */
    Offered offer(SocketChannel channel, int room) {
        if (memory == null) {
            return null;
        }
        if (room < SharedMemoryOffer.BYTES) {
            LOGGER.debug(
                    "The private data leave {} bytes, too few to announce shared memory; TCP is"
                            + " used",
                    room);
            return null;
        }
        try {
            InetSocketAddress local = (InetSocketAddress) channel.getLocalAddress();
            InetSocketAddress remote = (InetSocketAddress) channel.getRemoteAddress();
            if (!isOwn(remote.getAddress(), local.getAddress())) {
                return null;
            }
            SharedMemoryOffer offer =
                    new SharedMemoryOffer(
                            local,
                            ProcessHandle.current().pid(),
                            UUID.randomUUID(),
                            UUID.randomUUID(),
                            ringBytes);
            return new Offered(
                    offer, remote, memory.create(offer.file(), offer.nonce(), ringBytes));
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            LOGGER.debug("No shared memory can be announced", e);
            return null;
        }
    }

    private static boolean isOwn(InetAddress peer, InetAddress local) throws IOException {
        return peer.isLoopbackAddress()
                || peer.equals(local)
                || NetworkInterface.getByInetAddress(peer) != null;
    }

    /**
     * Maps the memory announced by an initiator, if possible.
     *
     * @param offer may be {@code null}
     * @param room the bytes that the private data of the Reply leave
     * @return {@code null} when TCP has to do
     */
    Joined join(
            SharedMemoryOffer offer, InetSocketAddress local, InetSocketAddress remote, int room) {
        if (memory == null) {
            return null;
        }
        if (offer == null || room < SharedMemoryMappedAnswer.BYTES) {
            LOGGER.debug(
                    offer == null
                            ? "{} did not announce shared memory, TCP is used"
                            : "The private data of the answer to {} leave no room to say that"
                                    + " shared memory was taken, TCP is used",
                    remote);
            return null;
        }
        try {
            if (!offer.initiator().equals(remote)) {
                throw new IOException("it was connected to by " + offer.initiator());
            }
            if (!isOwn(remote.getAddress(), local.getAddress())) {
                throw new IOException("it is another machine");
            }
            SharedMemoryMappedAnswer answer = new SharedMemoryMappedAnswer(UUID.randomUUID());
            return new Joined(answer, memory.join(offer, answer.nonce()));
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            LOGGER.debug("No shared memory with {}", remote, e);
            return null;
        }
    }

    /** Memory mapped by a responder, and its answer. */
    record Joined(SharedMemoryMappedAnswer answer, SharedRingFile rings) {}
}
