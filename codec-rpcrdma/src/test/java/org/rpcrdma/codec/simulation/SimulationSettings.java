// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.channel.Channel;
import java.util.List;
import java.util.Random;
import org.rpcrdma.codec.OptionalOperationHandler;
import org.rpcrdma.codec.OptionalOperationMessage;
import org.rpcrdma.codec.ReadChunkReplyConfig;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.VersionTwoConfig;
import org.rpcrdma.codec.binding.BindingRegistry;

/** What all peers of a world have in common. */
final class SimulationSettings {

    /** The optional operation of simulations: the answer has the information of the call. */
    static final int OPTION = 0xFFFF0007;

    private static final int REVERSE_CREDITS = 4;
    private static final int MOST_CONNECTION_BYTES = 128 << 20;
    private static final int LITTLE_REPLY = 6000;

    /** More than all delays of a history. */
    private static final int PATIENCE_MILLIS = 120_000;

    private final boolean isLong;
    private final int connectionBytes;
    private final boolean hasVersionTwo;
    private final boolean hasReverse;
    private final boolean hasDeadlines;
    private final ReadChunkReplyConfig readChunkReplies;

    /** Whether long replies without a bound are always pulled. */
    private final boolean isPulling;

    /** Whether calls without a bound offer little memory at first, and more when they are refused. */
    private final boolean isGrowing;

    SimulationSettings(Random random, boolean hasLosses) {
        isLong = random.nextBoolean();
        // With the least of them, replies are held back until others have been read.
        connectionBytes =
                new int[] {MOST_CONNECTION_BYTES, 512 << 10, 132 << 10}[random.nextInt(3)];
        hasVersionTwo = random.nextInt(3) == 0;
        hasReverse = random.nextInt(3) == 0;
        hasDeadlines = random.nextBoolean();
        ReadChunkReplyConfig.ReplyChunks[] when = ReadChunkReplyConfig.ReplyChunks.values();
        readChunkReplies =
                random.nextInt(3) == 0
                        ? waiting(random, hasLosses)
                                .withReplyChunks(when[random.nextInt(when.length)])
                        : null;
        // Version 2 has no pull completion.
        isPulling = random.nextInt(3) != 0 && !hasVersionTwo;
        isGrowing = !isPulling && readChunkReplies == null && random.nextBoolean();
    }

    /** With a limit, or after a time-out, replies that have no other way are refused. */
    private static ReadChunkReplyConfig waiting(Random random, boolean hasLosses) {
        return hasLosses
                ? ReadChunkReplyConfig.DEFAULT.withMaxWaiting(1 + random.nextInt(8))
                : ReadChunkReplyConfig.DEFAULT.withCompletionTimeoutMillis(PATIENCE_MILLIS);
    }

    RpcRdmaConfig.Builder builder() {
        RpcRdmaConfig.Builder builder =
                RpcRdmaConfig.builder()
                        .longSize(isLong ? 128 << 10 : 0)
                        .maxConnectionBytes(connectionBytes)
                        .defaultMaximumReply(isGrowing ? LITTLE_REPLY : defaultMaximumReply())
                        .bindings(BindingRegistry.of(List.of(new SimulatedProgram())));
        if (hasVersionTwo) {
            builder.versionTwo(
                    VersionTwoConfig.builder()
                            .option(OPTION, new Option())
                            .probeTimeoutMillis(PATIENCE_MILLIS)
                            .build());
        }
        if (hasReverse) {
            builder.reverseCredits(REVERSE_CREDITS);
        }
        if (readChunkReplies != null) {
            builder.readChunkReplies(readChunkReplies);
        }
        return builder;
    }

    /** What a call without a bound offers that does not grow. */
    int defaultMaximumReply() {
        return isPulling ? 0 : 64 << 10;
    }

    /** Whether calls that grow at the same time may meet the limit of a connection. */
    boolean mayLackMemoryToGrow() {
        return isGrowing && connectionBytes < MOST_CONNECTION_BYTES;
    }

    boolean hasReverse() {
        return hasReverse;
    }

    /** Whether credits are for calls alone: without pull completions. */
    boolean hasPlainCredits() {
        return readChunkReplies == null && !isPulling;
    }

    /** Whether pull completions need receives beside those of the grant. */
    boolean areCompletionsOutside() {
        return readChunkReplies != null;
    }

    /** Whether some calls have short ones; a call that is late may cost a silent connection. */
    boolean hasDeadlines() {
        return hasDeadlines;
    }

    boolean hasVersionTwo() {
        return hasVersionTwo;
    }

    @Override
    public String toString() {
        return (isLong ? "long Sends" : "Sends of 4 KiB")
                + ", at most "
                + connectionBytes
                + " bytes of a connection"
                + (hasVersionTwo ? ", version 2" : "")
                + (hasReverse ? ", reverse calls" : "")
                + (isPulling ? ", pulled replies" : "")
                + (isGrowing ? ", calls that grow" : "")
                + (readChunkReplies == null ? "" : ", " + readChunkReplies);
    }

    /** Answers with what has come; tells {@link OptionCaller} of answers. */
    private static final class Option implements OptionalOperationHandler {
        @Override
        public Payload payload() {
            return Payload.NONE;
        }

        @Override
        public void received(Channel channel, OptionalOperationMessage message) {
            try {
                if (message.isReply()) {
                    channel.attr(OptionCaller.KEY).get().answered(message);
                } else {
                    channel.writeAndFlush(message.reply(message.information()));
                }
            } finally {
                message.release();
            }
        }
    }
}
