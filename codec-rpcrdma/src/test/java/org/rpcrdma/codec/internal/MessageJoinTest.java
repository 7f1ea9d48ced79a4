// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.codec.ScarceMemory;

class MessageJoinTest {

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theBodyStaysTheCallers(boolean isCopied) {
        ByteBuf header = Unpooled.buffer().writeInt(1);
        ByteBuf body = Unpooled.buffer().writeInt(2);
        ByteBuf whole = MessageJoin.join(header, body, isCopied);
        assertThat(whole.readLong()).isEqualTo(0x100000002L);
        assertThat(body.readInt()).isEqualTo(2);
        body.release();
        assertThat(body.refCnt()).isEqualTo(isCopied ? 0 : 1);
        whole.release();
        assertThat(header.refCnt() + body.refCnt()).isZero();
    }

    @Test
    void aHeaderWithoutMemoryToJoinItIsReleased() {
        ScarceMemory memory = new ScarceMemory(1);
        ByteBuf header = memory.buffer(4).writeInt(1);
        ByteBuf body = Unpooled.buffer().writeInt(2);
        assertThatThrownBy(() -> MessageJoin.join(header, body, false))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(memory.isBack()).isTrue();
        assertThat(body.refCnt()).isOne();
        body.release();
    }

    @Test
    void aHeaderThatCannotBeJoinedIsReleased() {
        ScarceMemory memory = new ScarceMemory(2);
        ByteBuf header = memory.buffer(4).writeInt(1);
        ByteBuf body = ScarceMemory.longest();
        assertThatThrownBy(() -> MessageJoin.join(header, body, false))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(memory.isBack()).isTrue();
        assertThat(body.refCnt()).isOne();
        body.release();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aHeaderWhoseBodyIsGoneIsReleased(boolean isCopied) {
        ByteBuf header = Unpooled.buffer().writeInt(1);
        ByteBuf body = Unpooled.buffer().writeInt(2);
        body.release();
        assertThatThrownBy(() -> MessageJoin.join(header, body, isCopied))
                .isInstanceOf(RuntimeException.class);
        assertThat(header.refCnt()).isZero();
    }
}
