// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * A history of byte streams: both ends write, flush, stop and resume reading, and shut their output down at random
 * times. Without losses each byte arrives once and in order, and each end sees the end of its input. With losses the
 * received bytes are a prefix of the written ones.
 */
public final class StreamSimulation extends PairSimulation<StreamEnd> {

    /** A history that has not begun. */
    public StreamSimulation(SimulatedNetwork network) {
        super(network, RdmaServerStreamChannel.class, RdmaStreamChannel.class);
    }

    @Override
    StreamEnd end(Channel channel, String name) {
        return new StreamEnd(channel, name, network);
    }

    @Override
    void options(Options options) {
        options.set(ChannelOption.ALLOW_HALF_CLOSURE, true);
        // With few credits they run out; with many, only buffers do.
        options.set(RdmaChannelOption.RECEIVE_DEPTH, 16 << random.nextInt(5));
        options.set(ChannelOption.SO_RCVBUF, 1024 << random.nextInt(9));
        options.set(ChannelOption.SO_SNDBUF, 1024 << random.nextInt(9));
    }

    @Override
    void act(StreamEnd end) {
        switch (random.nextInt(12)) {
            case 0 -> end.setReading(random.nextInt(3) != 0);
            case 1 -> end.write(0);
            case 2 -> end.flush();
            case 3 -> {
                if (random.nextInt(5) == 0) {
                    end.finish();
                }
            }
            case 4, 5 -> end.write(1 + random.nextInt(200_000));
            default -> end.write(1 + random.nextInt(3000));
        }
        if (random.nextInt(3) != 0) {
            end.flush();
        }
    }
}
