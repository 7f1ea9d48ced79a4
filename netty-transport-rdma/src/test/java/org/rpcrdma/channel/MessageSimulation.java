// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.WriteBufferWaterMark;
import java.util.List;
import java.util.Random;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * A history of message channels without a codec: both ends write past Netty's outbound buffer and into it, cancel,
 * flush, close, and do all of this also when they are told of water marks and of writes that are complete. What was
 * flushed is sent without another flush; what was cancelled is not; all else arrives once and in order. In half of them
 * they also read, write and invalidate memory of each other, in order with the messages.
 */
public final class MessageSimulation extends PairSimulation<MessageEnd> {

    private static final int MOST_ACTIONS = 12;

    private final boolean hasCloses;
    private final int receiveDepth;
    private final boolean hasMemory;

    /** A history that has not begun. */
    public MessageSimulation(SimulatedNetwork network) {
        this(network, null);
    }

    /** A history, with hosts of the caller's, that has not begun. */
    public MessageSimulation(SimulatedNetwork network, Hosts hosts) {
        super(network, hosts, RdmaServerChannel.class, RdmaChannel.class);
        hasCloses = random.nextInt(4) == 0;
        hasMemory = network.seed() % 2 != 0;
        receiveDepth = 2 + random.nextInt(random.nextBoolean() ? 12 : 64);
    }

    @Override
    boolean isComplete() {
        return super.isComplete() && !hasCloses && hosts == null;
    }

    @Override
    MessageEnd end(Channel channel, String name) {
        return new MessageEnd(
                (RdmaChannel) channel,
                name,
                network,
                new Random(random.nextLong()),
                receiveDepth,
                hasMemory);
    }

    @Override
    void options(Options options) {
        int low = 1 + random.nextInt(1000);
        options.set(
                ChannelOption.WRITE_BUFFER_WATER_MARK,
                new WriteBufferWaterMark(low, low + random.nextInt(2000)));
        options.set(RdmaChannelOption.RECEIVE_SIZE, MessageEnd.MOST_BYTES);
        options.set(RdmaChannelOption.RECEIVE_DEPTH, receiveDepth);
        options.set(
                RdmaChannelOption.SEND_DEPTH, 1 + random.nextInt(random.nextBoolean() ? 3 : 20));
    }

    @Override
    void act(MessageEnd end) {
        switch (random.nextInt(16)) {
            case 0 -> end.setReading(random.nextInt(3) != 0);
            case 1 -> {
                if (hasCloses && random.nextInt(5) == 0) {
                    end.close();
                }
            }
            default -> end.act(1 + random.nextInt(MOST_ACTIONS));
        }
    }

    /** Nobody flushes again, and all that was flushed is sent nevertheless. */
    @Override
    void beforeTheEnd(List<MessageEnd> all, List<RdmaEventLoopGroup> groups) {
        all.forEach(MessageEnd::rest);
        expect("what was flushed is sent", () -> all.stream().allMatch(MessageEnd::isFlushedSent));
    }
}
