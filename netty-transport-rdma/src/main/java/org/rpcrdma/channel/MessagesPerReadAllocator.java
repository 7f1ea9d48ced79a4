// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelConfig;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;

/**
 * Ends a read after a number of messages, as Netty's own allocators do, in fewer steps. It does not guess sizes: a
 * message has its memory before it is read.
 */
final class MessagesPerReadAllocator extends DefaultMaxMessagesRecvByteBufAllocator {

    @Override
    @SuppressWarnings("deprecation") // as in the interface
    public Handle newHandle() {
        return new Count();
    }

    private final class Count implements ExtendedHandle {

        private ChannelConfig config;
        private int most;
        private int messages;
        private int attempted;
        private int last;

        @Override
        public void reset(ChannelConfig ofChannel) {
            config = ofChannel;
            most = maxMessagesPerRead();
            messages = 0;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            return allocator.ioBuffer(guess());
        }

        @Override
        public int guess() {
            return 1;
        }

        @Override
        public void incMessagesRead(int count) {
            messages += count;
        }

        @Override
        public void attemptedBytesRead(int bytes) {
            attempted = bytes;
        }

        @Override
        public int attemptedBytesRead() {
            return attempted;
        }

        @Override
        public void lastBytesRead(int bytes) {
            last = bytes;
        }

        @Override
        public int lastBytesRead() {
            return last;
        }

        @Override
        public boolean continueReading() {
            return messages < most && config.isAutoRead();
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier mayBeMore) {
            return mayBeMore.get() && continueReading();
        }

        @Override
        public void readComplete() {
            // Nothing is learned from it.
        }
    }
}
