// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.apache.hadoop.oncrpc.RpcInfo;
import org.apache.hadoop.oncrpc.RpcUtil;
import org.junit.jupiter.api.Test;

class RpcCallCheckTest {

    @Test
    void goodCallsPass() {
        assertPasses(call(2).writeLong(0).writeLong(0));
        ByteBuf sys = call(2).writeInt(1).writeInt(28).writeInt(9).writeInt(1).writeInt('h' << 24);
        assertPasses(sys.writeInt(5).writeInt(6).writeInt(1).writeInt(7).writeLong(0));
    }

    @Test
    void callsThatCannotBeTakenAreDenied() {
        assertDenied(call(3).writeLong(0).writeLong(0), 0, 2, 2);
        assertDenied(call(2).writeInt(6).writeInt(0).writeLong(0), 1, 2);
        assertDenied(call(2).writeInt(0).writeInt(4).writeInt(0).writeLong(0), 1, 1);
        assertDenied(call(2).writeInt(1).writeInt(Integer.MAX_VALUE).writeLong(0), 1, 1);
        assertDenied(call(2).writeInt(1).writeInt(-4).writeLong(0), 1, 1);
        ByteBuf hugeGroups =
                call(2).writeInt(1).writeInt(20).writeInt(0).writeInt(0).writeInt(0).writeInt(0);
        assertDenied(hugeGroups.writeInt(1 << 30).writeLong(0), 1, 1);
        ByteBuf hugeName = call(2).writeInt(1).writeInt(20).writeInt(0).writeInt(Integer.MAX_VALUE);
        assertDenied(hugeName.writeInt(0).writeInt(0).writeInt(0).writeLong(0), 1, 1);
        assertDenied(call(2).writeLong(0).writeInt(0).writeInt(1 << 30), 1, 3);
    }

    @Test
    void whatIsNoCallEndsTheConnection() {
        for (ByteBuf garbage :
                new ByteBuf[] {
                    Unpooled.buffer().writeInt(1),
                    Unpooled.buffer().writeInt(1).writeInt(1).writeZero(40)
                }) {
            EmbeddedChannel channel = new EmbeddedChannel(new RpcCallCheck());
            assertThat(channel.writeInbound(garbage)).isFalse();
            assertThat(channel.isOpen()).isFalse();
            assertThat(garbage.refCnt()).isZero();
        }
    }

    /** Whatever passes is understood by Hadoop's parser, and nothing leaks. */
    @Property
    void anyBytesAreTakenOrRefused(@ForAll @Size(max = 120) byte[] tail) {
        EmbeddedChannel channel =
                new EmbeddedChannel(new RpcCallCheck(), RpcUtil.STAGE_RPC_MESSAGE_PARSER);
        ByteBuf call = call(2).writeBytes(tail);
        channel.writeInbound(call);
        RpcInfo parsed = channel.readInbound();
        if (parsed != null) {
            parsed.data().release();
        } else {
            ByteBuf denial = channel.readOutbound();
            assertThat(denial != null || !channel.isOpen()).isTrue();
            if (denial != null) {
                denial.release();
            }
        }
        assertThat(call.refCnt()).isZero();
    }

    private static ByteBuf call(int rpcVersion) {
        return Unpooled.buffer()
                .writeInt(77)
                .writeInt(0)
                .writeInt(rpcVersion)
                .writeInt(100003)
                .writeInt(3)
                .writeInt(0);
    }

    private static void assertPasses(ByteBuf call) {
        EmbeddedChannel channel = new EmbeddedChannel(new RpcCallCheck());
        assertThat(channel.writeInbound(call)).isTrue();
        assertThat(channel.<ByteBuf>readInbound()).isSameAs(call);
        call.release();
    }

    private static void assertDenied(ByteBuf call, int... why) {
        EmbeddedChannel channel = new EmbeddedChannel(new RpcCallCheck());
        assertThat(channel.writeInbound(call)).isFalse();
        assertThat(call.refCnt()).isZero();
        ByteBuf denial = channel.readOutbound();
        assertThat(new int[] {denial.readInt(), denial.readInt(), denial.readInt()})
                .containsExactly(77, 1, 1);
        for (int word : why) {
            assertThat(denial.readInt()).isEqualTo(word);
        }
        assertThat(denial.isReadable()).isFalse();
        denial.release();
    }
}
