// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** The program of docs/software-rnic.md: one end exposes memory, the other fetches it with an RDMA Read. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class TourTest {

    private static final QueuePairConfig DEPTHS = new QueuePairConfig(16, 4, 8, 8);

    @Test
    void oneEndReadsTheMemoryOfTheOther() throws IOException {
        try (EventLoopVerbsContext context = new IwarpProvider(IwarpConfig.defaults()).open()) {
            Server[] server = new Server[1];
            Listener listener =
                    context.listen(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                            16,
                            new ListenerHandler() {
                                @Override
                                public void connectionRequested(ConnectionRequest request) {
                                    server[0] = new Server(context, request);
                                }

                                @Override
                                public void acceptFailed(Throwable cause) {
                                    throw new IllegalStateException(cause);
                                }
                            });
            Client client = new Client(context);
            client.queuePair.connect(listener.localAddress(), null, new byte[0]);
            while (!client.isDone) {
                context.poll(64);
                context.await(-1);
            }
            assertThat(StandardCharsets.US_ASCII.decode(client.sink.duplicate()).toString())
                    .isEqualTo("fetched without the other end's doing");
        }
    }

    private static final class Server extends End {

        private final ByteBuffer text =
                direct(64)
                        .put(
                                "fetched without the other end's doing"
                                        .getBytes(StandardCharsets.US_ASCII));

        Server(EventLoopVerbsContext context, ConnectionRequest request) {
            super(context);
            try {
                queuePair = context.createQueuePair(request, DEPTHS, this);
            } catch (IOException e) {
                throw new UncheckedIOException(e); // the peer has gone away
            }
            queuePair.accept(new byte[0]);
        }

        @Override
        public void connected(byte[] privateData) {
            // The peer may read this range, and nothing else, until the key is invalidated.
            MemoryRegion region = register(text.flip());
            int key =
                    queuePair.expose(
                            region, region.address(), region.length(), QueuePair.REMOTE_READ);
            message.putInt(0, key).putInt(4, region.length());
            message.putLong(8, queuePair.exposedOffset(key));
            queuePair.send(1, QueuePair.SIGNALED);
            queuePair.gather(messages.address(), 16, messages.localKey());
            queuePair.doorbell();
        }
    }

    private static final class Client extends End {

        private static final long ADVERTISEMENT = 1;
        private static final long READ = 2;

        private ByteBuffer sink;
        private boolean isDone;

        Client(EventLoopVerbsContext context) throws IOException {
            super(context);
            queuePair = context.createQueuePair(DEPTHS, this);
            queuePair.postReceive(ADVERTISEMENT, messages.address(), 16, messages.localKey());
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            if (id == ADVERTISEMENT && status == WorkStatus.SUCCESS) {
                sink = direct(message.getInt(4));
                MemoryRegion region = register(sink);
                queuePair.read(READ, QueuePair.SIGNALED, message.getLong(8), message.getInt(0));
                queuePair.gather(region.address(), region.length(), region.localKey());
                queuePair.doorbell();
            } else if (id == READ && status == WorkStatus.SUCCESS) {
                isDone = true; // every byte is in the sink
                queuePair.disconnect();
            }
        }
    }

    /** What both ends have. */
    private static class End implements QueuePairHandler {

        final EventLoopVerbsContext context;
        final ByteBuffer message = direct(16);
        final MemoryRegion messages;
        QueuePair queuePair;

        End(EventLoopVerbsContext context) {
            this.context = context;
            messages = register(message);
        }

        static ByteBuffer direct(int bytes) {
            return ByteBuffer.allocateDirect(bytes);
        }

        final MemoryRegion register(ByteBuffer memory) {
            return context.register(
                    memory, PlatformDependent.directBufferAddress(memory) + memory.position());
        }

        @Override
        public void connected(byte[] privateData) {
            // The first message says more.
        }

        @Override
        public void connectFailed(Throwable cause) {
            throw new IllegalStateException(cause);
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            // Nothing waits for it.
        }

        @Override
        public void disconnected(Throwable cause) {
            queuePair.close();
        }
    }
}
