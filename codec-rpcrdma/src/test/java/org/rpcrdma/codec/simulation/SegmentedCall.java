// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.Random;

/**
 * A call of a {@link SegmentedCaller} and the reply that it has to get. It may be sent more than once, with the same
 * XID.
 *
 * @param number of the call, and its XID
 * @param procedure of {@link SimulatedProgram}; 0 for the one without a binding
 * @param message the whole call
 * @param reply the whole reply
 * @param argumentBytes of the eligible argument
 * @param resultBytes of the eligible result
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record SegmentedCall(
        int number,
        int procedure,
        byte[] message,
        byte[] reply,
        int argumentBytes,
        int resultBytes) {

    /** Where the eligible argument begins in a call: behind three words and its length. */
    static final int ARGUMENT_AT = SimulatedProgram.CALL_BYTES + 16;

    /** Where the eligible result begins in a reply: behind the number and its length. */
    static final int RESULT_AT = SimulatedProgram.REPLY_BYTES + 8;

    private static final int MOST_DELAY_MILLIS = 1500;

    static SegmentedCall of(SimulatedWorld world, Random random) {
        int number = world.nextCodecCall();
        int procedure = random.nextInt(SimulatedProgram.APPEND + 1);
        boolean isAppend = procedure == SimulatedProgram.APPEND;
        int wanted = length(random);
        byte[] data = SimulatedProgram.data(~number, length(random));
        int millis = random.nextInt(isAppend ? 2 : 6) == 0 ? random.nextInt(MOST_DELAY_MILLIS) : 0;
        ByteBuf call =
                procedure == 0
                        ? SimulatedProgram.call(SimulatedProgram.UNBOUND, 1)
                        : SimulatedProgram.call(SimulatedProgram.PROGRAM, procedure);
        SimulatedCall.arguments(call.setInt(0, number), number, wanted, millis, data);
        ByteBuf reply = SimulatedProgram.reply(number).writeInt(number);
        SimulatedProgram.opaque(reply, SimulatedProgram.data(number, wanted));
        SegmentedCall made =
                new SegmentedCall(
                        number,
                        procedure,
                        ByteBufUtil.getBytes(call),
                        ByteBufUtil.getBytes(reply),
                        data.length,
                        wanted);
        world.expectArguments(
                number,
                Arrays.copyOfRange(made.message, SimulatedProgram.CALL_BYTES, made.message.length));
        return made;
    }

    private static int length(Random random) {
        return switch (random.nextInt(8)) {
            case 0 -> random.nextInt(5);
            case 1 -> random.nextInt(9000);
            default -> random.nextInt(1400);
        };
    }

    boolean hasBinding() {
        return procedure != 0;
    }

    /** The call without its eligible argument. */
    byte[] reducedMessage() {
        return without(message, ARGUMENT_AT, argumentBytes);
    }

    /** The reply without its eligible result. */
    byte[] reducedReply() {
        return without(reply, RESULT_AT, resultBytes);
    }

    private static byte[] without(byte[] whole, int at, int length) {
        int end = at + length + (-length & 3);
        return ByteBufUtil.getBytes(
                Unpooled.wrappedBuffer(
                        Arrays.copyOf(whole, at), Arrays.copyOfRange(whole, end, whole.length)));
    }

    @Override
    public String toString() {
        return "call "
                + number
                + " of procedure "
                + procedure
                + ", "
                + argumentBytes
                + " bytes, wants "
                + resultBytes;
    }
}
