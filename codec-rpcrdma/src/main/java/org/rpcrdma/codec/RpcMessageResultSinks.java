// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import java.util.Arrays;

/**
 * Sinks of an {@link RpcMessage} in order: memory of the user for results, offered as Write chunks by a call and filled
 * in its reply.
 */
final class RpcMessageResultSinks {

    /** The empty list of a message without sinks; never added to. */
    static final RpcMessageResultSinks NONE = new RpcMessageResultSinks();

    /** Offset in {@link #numbers} of each sink. */
    private static final int INDEX = 0;

    private static final int LENGTH = 1;
    private static final int POSITION = 2;
    private static final int NUMBERS = 3;

    private int count;
    private ByteBuf[] memory = new ByteBuf[1];
    private int[] numbers = new int[NUMBERS];

    /** Takes over memory for a result; {@code null} for a result that comes with the payload. */
    void offer(ByteBuf sink) {
        add(sink, sink == null ? 0 : sink.writerIndex(), sink == null ? 0 : sink.writableBytes());
    }

    /**
     * Takes over a sink with its result.
     *
     * @param position of the result in the whole message; -1 when the sink was not used
     */
    void addResult(ByteBuf sink, int position, int length) {
        add(sink, sink == null ? 0 : sink.writerIndex(), length);
        numbers[(count - 1) * NUMBERS + POSITION] = position;
    }

    private void add(ByteBuf sink, int index, int length) {
        if (count == memory.length) {
            memory = Arrays.copyOf(memory, count << 1);
            numbers = Arrays.copyOf(numbers, (count << 1) * NUMBERS);
        }
        memory[count] = sink;
        numbers[count * NUMBERS + INDEX] = index;
        numbers[count * NUMBERS + LENGTH] = length;
        numbers[count * NUMBERS + POSITION] = -1;
        count++;
    }

    int count() {
        return count;
    }

    /** {@code null} for an inline one. */
    ByteBuf memory(int sink) {
        return memory[sink];
    }

    /** First index of the offered memory. */
    int index(int sink) {
        return numbers[sink * NUMBERS + INDEX];
    }

    /** Bytes offered, or bytes of the result. */
    int length(int sink) {
        return numbers[sink * NUMBERS + LENGTH];
    }

    /** Position of the result in the whole message; -1 if the sink was not used. */
    int position(int sink) {
        return numbers[sink * NUMBERS + POSITION];
    }

    /** The same sinks with one more reference each. */
    RpcMessageResultSinks retained() {
        if (count == 0) {
            return NONE;
        }
        RpcMessageResultSinks copy = new RpcMessageResultSinks();
        copy.count = count;
        copy.memory = memory.clone();
        copy.numbers = numbers.clone();
        for (int i = 0; i < count; i++) {
            if (memory[i] != null) {
                memory[i].retain();
            }
        }
        return copy;
    }

    /** Releases all sinks, even if the user has released one of them too often. */
    void release() {
        for (int i = 0; i < count; i++) {
            ReferenceCountUtil.safeRelease(memory[i]);
        }
    }
}
