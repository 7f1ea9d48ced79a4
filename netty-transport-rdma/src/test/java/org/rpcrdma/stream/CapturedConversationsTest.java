// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.stream.Conversation.Operation;
import org.rpcrdma.stream.RsocketMessage.Kind;

/** Both ends of captured conversations keep the rules as they are written here, to the byte. */
class CapturedConversationsTest {

    static List<Conversation> conversations() {
        return Conversation.all();
    }

    @ParameterizedTest
    @MethodSource("conversations")
    void bothEndsKeepTheRules(Conversation conversation) throws Exception {
        End client = new End();
        End server = new End();
        for (Operation operation : conversation.operations()) {
            End from = operation.fromClient() ? client : server;
            End to = operation.fromClient() ? server : client;
            switch (operation.type()) {
                case DATA -> from.connects(ByteBufUtil.getBytes(operation.bytes()), to);
                case WRITE -> from.writes(operation, to);
                case SEND, IMMEDIATE -> from.sends(operation, to);
                default -> from.hasEnded = true;
            }
        }
        assertThat(client.hasEnded).isTrue();
        assertThat(server.hasEnded).isTrue();
    }

    /** One end as the rules have it, fed with what it does and what its peer does. */
    private static final class End {
        private final ByteBuf memory = Unpooled.buffer(PeerReceiveBufferTable.BYTES);
        private final PeerReceiveBufferTable table = new PeerReceiveBufferTable(memory);
        private final StreamHalfCloseState ends = new StreamHalfCloseState();
        private StreamPrivateData own;
        private SendCredits sendCredits;
        private ReceiveCredits receiveCredits;
        private PublishedReceiveBuffers buffers;

        /** Data written and not announced. */
        private int written;

        private boolean full;
        private boolean hasEnded;

        void connects(byte[] bytes, End peer) throws Exception {
            own = StreamPrivateData.decode(bytes, false);
            receiveCredits = new ReceiveCredits(own.credits());
            buffers = new PublishedReceiveBuffers((int) own.buffer().length());
            peer.sendCredits = new SendCredits(own.credits());
            peer.table.open(own.buffer());
            if (peer.buffers != null) {
                peer.buffers.open(own);
                buffers.open(peer.own);
            }
            if (bytes[7] == 0) {
                assertThat(own.encode()).isEqualTo(bytes);
            }
        }

        void writes(Operation write, End peer) {
            if (write.length() == 0) {
                // A keep-alive: it names no memory.
                assertThat(write.offset()).isZero();
                return;
            }
            if (write.key() == peer.own.tableKey()) {
                publishes(write, peer);
                return;
            }
            assertThat(full).isFalse();
            assertThat(write.key()).isEqualTo(table.key());
            assertThat(write.offset()).isEqualTo(table.offset());
            assertThat((long) write.length()).isLessThanOrEqualTo(table.room());
            full = table.addWritten(write.length());
            written += write.length();
        }

        private void publishes(Operation write, End peer) {
            ByteBuf entry = write.bytes();
            ReceiveBufferAddress published = ReceiveBufferAddress.get(entry, 0);
            assertThat(buffers.publish((int) published.length())).isEqualTo(write.offset());
            int index = (int) (write.offset() - peer.own.tableOffset());
            ReceiveBufferAddress.put(
                    peer.memory,
                    index,
                    published.offset(),
                    published.key(),
                    (int) published.length());
            assertThat(peer.memory.slice(index, ReceiveBufferAddress.BYTES)).isEqualTo(entry);
        }

        void sends(Operation operation, End peer) throws Exception {
            if (operation.type() == Conversation.Type.SEND) {
                assertThat(operation.bytes().capacity()).isEqualTo(RsocketMessage.BYTES);
            }
            int message = operation.message();
            Kind kind = RsocketMessage.kind(message);
            switch (kind) {
                case DATA -> {
                    assertThat(message).isEqualTo(RsocketMessage.data(written));
                    assertThat(ends.isOutputOver()).isFalse();
                    sendCredits.sent();
                    written = 0;
                    full = false;
                    peer.ends.dataReceived();
                    peer.receiveCredits.received();
                    peer.buffers.addReceived(RsocketMessage.value(message));
                }
                case SGL -> {
                    receiveCredits.grant();
                    peer.sendCredits.limit(RsocketMessage.value(message));
                    peer.table.update();
                }
                case IOMAP -> {
                    sendCredits.sent();
                    peer.receiveCredits.received();
                }
                case SHUTDOWN -> {
                    assertThat(message).isEqualTo(RsocketMessage.SHUTDOWN);
                    ends.shutdownSent();
                    peer.ends.shutdownReceived();
                }
                case DISCONNECT -> {
                    assertThat(message).isEqualTo(RsocketMessage.DISCONNECT);
                    ends.disconnectSent();
                    peer.ends.disconnectReceived();
                }
                default -> throw new AssertionError(RsocketMessage.toString(message));
            }
        }
    }
}
