// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.channel.ChannelOption;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;

/**
 * The device of one host, and the queues of its channels. In two worlds of three all have the usual ones. In the others
 * each host differs: it asks for markers, or for the CRC, speaks revision 1 of MPA, makes short FPDUs, offers other
 * messages that are ready to receive, accepts one connection at a time, or has short queues.
 */
final class SimulatedDevice {

    /** As by the MTU of most loopback interfaces, which would be asked once for each host. */
    private static final int USUAL_ULPDU = 64_768;

    private static final List<Set<Rtr>> READY_TO_RECEIVE =
            List.of(
                    Set.of(Rtr.ZERO_LENGTH_SEND),
                    Set.of(Rtr.ZERO_LENGTH_READ),
                    Set.of(Rtr.ZERO_LENGTH_WRITE),
                    Set.of(Rtr.ZERO_LENGTH_SEND, Rtr.ZERO_LENGTH_READ));

    private static final int LEAST_SEND_DEPTH = 2;
    private static final int MOST_READS = 3;

    /** Sets an option of a channel. */
    interface Options {
        <T> void set(ChannelOption<T> option, T value);
    }

    final IwarpConfig config;
    private final int sendDepth;
    private final int readDepth;

    private SimulatedDevice() {
        config = IwarpConfig.builder().maxUlpdu(USUAL_ULPDU).build();
        sendDepth = 0;
        readDepth = 0;
    }

    private SimulatedDevice(Random random, boolean isChecked) {
        IwarpConfig.Builder builder =
                IwarpConfig.builder()
                        .maxUlpdu(ulpdu(random))
                        .markers(random.nextInt(3) == 0)
                        .mpaRevision(random.nextInt(4) == 0 ? 1 : 2)
                        .peerToPeer(random.nextInt(4) != 0);
        if (isChecked || random.nextInt(3) == 0) {
            builder.crc(CrcPolicy.REQUIRE);
        }
        if (random.nextBoolean()) {
            builder.readyToReceive(READY_TO_RECEIVE.get(random.nextInt(READY_TO_RECEIVE.size())));
        }
        if (random.nextInt(3) == 0) {
            builder.maxHalfOpen(1);
        }
        config = builder.build();
        sendDepth = random.nextBoolean() ? 0 : LEAST_SEND_DEPTH + random.nextInt(16);
        readDepth = random.nextBoolean() ? 0 : 1 + random.nextInt(MOST_READS);
    }

    /** That of a host in a history. */
    static SimulatedDevice of(long seed, String host) {
        return isVaried(seed)
                ? new SimulatedDevice(new Random(31 * seed + host.hashCode()), isChecked(seed))
                : usual();
    }

    static SimulatedDevice usual() {
        return new SimulatedDevice();
    }

    private static boolean isVaried(long seed) {
        return seed % 3 == 1;
    }

    /** Whether all hosts of a world ask for the CRC, so that no byte that was damaged is taken. */
    static boolean isChecked(long seed) {
        return seed % 6 == 4;
    }

    private static int ulpdu(Random random) {
        return switch (random.nextInt(3)) {
            case 0 -> 128 + random.nextInt(400);
            case 1 -> 1400 + random.nextInt(100);
            default -> USUAL_ULPDU;
        };
    }

    /** Sets the depth of the queues of a channel for messages. */
    void setDepths(Options channel) {
        if (sendDepth > 0) {
            channel.set(RdmaChannelOption.SEND_DEPTH, sendDepth);
        }
        if (readDepth > 0) {
            channel.set(RdmaChannelOption.READ_DEPTH, readDepth);
        }
    }
}
