// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PostedSendQueueEntriesTest {

    private final PostedSendQueueEntries ring = new PostedSendQueueEntries();
    private final List<ByteBuf> messages = new ArrayList<>();

    private void add(int count) {
        for (int i = 0; i < count; i++) {
            ByteBuf message = Unpooled.directBuffer(8);
            messages.add(message);
            ring.next();
            ring.add(message, message, null);
        }
    }

    /** What the outbound buffer has is enough as long as it is there. */
    @Test
    void itHoldsNoReferenceWithoutNeed() {
        add(40);
        ring.removeHead();
        ring.clear();
        assertThat(messages).allMatch(message -> message.refCnt() == 1);
        messages.forEach(ByteBuf::release);
    }

    @Test
    void whatIsHeldStaysUntilTheDeviceIsDoneWithIt() {
        add(3);
        ring.addNothing(Unpooled.EMPTY_BUFFER);
        ring.removeHead();
        messages.remove(0).release();
        ring.hold();
        ring.hold();
        messages.forEach(ByteBuf::release);
        assertThat(messages).allMatch(message -> message.refCnt() == 1);
        ring.removeHead();
        assertThat(messages.get(0).refCnt()).isZero();
        assertThat(messages.get(1).refCnt()).isEqualTo(1);
        ring.clear();
        assertThat(messages.get(1).refCnt()).isZero();
    }

    /** What is posted after it is not held, also when the ring has grown meanwhile. */
    @Test
    void onlyWhatIsPostedIsHeld() {
        add(10);
        ring.hold();
        add(10);
        ring.clear();
        assertThat(messages).allMatch(message -> message.refCnt() == 1);
        messages.forEach(ByteBuf::release);
        assertThat(messages).allMatch(message -> message.refCnt() == 0);
    }
}
