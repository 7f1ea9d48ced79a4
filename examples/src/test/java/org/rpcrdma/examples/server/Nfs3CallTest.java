// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a call of NFS owns, however often its procedure begins. */
class Nfs3CallTest {

    /** {@link Nfs3Files#onFile} runs a READ again when the file is renamed meanwhile. */
    @Test
    void memoryOfAnEarlierAttemptIsReleased() {
        ByteBuf first;
        ByteBuf second;
        Caller caller = Caller.of(0, 0, List.of(), Caller.Policy.AS_SERVER);
        try (Nfs3Call call =
                new Nfs3Call(Unpooled.EMPTY_BUFFER, caller, UnpooledByteBufAllocator.DEFAULT)) {
            first = call.newData(8);
            second = call.newData(8);
            assertThat(first.refCnt()).isZero();
            assertThat(second.refCnt()).isEqualTo(1);
        }
        assertThat(second.refCnt()).isZero();
    }
}
