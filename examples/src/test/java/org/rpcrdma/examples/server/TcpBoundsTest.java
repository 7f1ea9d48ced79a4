// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.DefaultChannelId;
import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A client over TCP that takes no replies, or only begins, has a bound: it stops nobody else. */
class TcpBoundsTest {

    private static final int LAST_FRAGMENT = 0x80000000;
    private static final int CALL = 0;
    private static final int REPLY = 1;

    private long now;
    private final ConnectionLimit connections =
            new ConnectionLimit(new Admission(null, 3, 2), () -> now);
    private int calls;

    /** Answers at once, by replies that nobody takes: they are not flushed. */
    private final class Program extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object call) {
            calls++;
            ctx.write(((ByteBuf) call).setInt(4, REPLY));
        }
    }

    private static final class FromAddress extends EmbeddedChannel {
        private final SocketAddress address;

        FromAddress(String host, ChannelHandler handler) {
            super(DefaultChannelId.newInstance(), false, false);
            address = new InetSocketAddress(host, 1000);
            pipeline().addLast(handler);
            try {
                register();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }

        @Override
        protected SocketAddress remoteAddress0() {
            return address;
        }
    }

    private static ByteBuf records(int count) {
        ByteBuf records = Unpooled.buffer();
        for (int i = 0; i < count; i++) {
            records.writeInt(8 | LAST_FRAGMENT).writeInt(i).writeInt(CALL);
        }
        return records;
    }

    @Test
    void callsWaitUntilRepliesAreTaken() {
        EmbeddedChannel channel = new FromAddress("127.0.0.1", new ChannelInboundHandlerAdapter());
        NfsServer.addFraming(channel.pipeline(), connections);
        channel.pipeline().addLast(new Program());
        channel.writeInbound(records(1500));
        for (int most = NfsServer.TCP_CALLS_MAX; most <= 1500; most += NfsServer.TCP_CALLS_MAX) {
            assertThat(calls).isEqualTo(most);
            channel.flushOutbound();
        }
        assertThat(calls).isEqualTo(1500);
        channel.finishAndReleaseAll();
    }

    /** Nobody answers a reply, so it would be at work for ever, and the end of its connection unseen. */
    @Test
    void whoSendsRepliesIsClosed() {
        EmbeddedChannel channel = new FromAddress("127.0.0.1", new ChannelInboundHandlerAdapter());
        NfsServer.addFraming(channel.pipeline(), connections);
        channel.writeInbound(
                Unpooled.buffer().writeInt(12 | LAST_FRAGMENT).writeInt(7).writeInt(1).writeInt(0));
        assertThat(channel.isOpen()).isFalse();
        assertThat(channel.inboundMessages()).isEmpty();
        channel.finishAndReleaseAll();
    }

    @Test
    void aCallWithoutAConnectionEndsToo() {
        EmbeddedChannel channel = new FromAddress("127.0.0.1", new ChannelInboundHandlerAdapter());
        NfsServer.addFraming(channel.pipeline(), connections);
        channel.pipeline().addLast(new Program());
        channel.writeInbound(records(1500));
        channel.close();
        channel.runPendingTasks();
        assertThat(calls).isEqualTo(NfsServer.TCP_CALLS_MAX);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void connectionsAreBounded() {
        Channel first = new FromAddress("10.0.0.1", connections);
        Channel second = new FromAddress("10.0.0.1", connections);
        assertThat(new FromAddress("10.0.0.1", connections).isOpen()).isFalse();
        Channel other = new FromAddress("10.0.0.2", connections);
        assertThat(new FromAddress("10.0.0.3", connections).isOpen()).isFalse();
        first.close();
        Channel next = new FromAddress("10.0.0.3", connections);
        assertThat(next.isOpen() && second.isOpen() && other.isOpen()).isTrue();
    }

    /** Who only begins records, or takes no replies, keeps nobody out for ever. */
    @Test
    void idleConnectionsMakeRoom() {
        EmbeddedChannel halfRecord = framed("10.0.0.1");
        EmbeddedChannel busy = framed("10.0.0.1");
        EmbeddedChannel other = framed("10.0.0.2");
        now += ConnectionLimit.IDLE_NANOS - 1;
        assertThat(framed("10.0.0.1").isOpen()).isFalse();
        assertThat(framed("10.0.0.3").isOpen()).isFalse();
        now++;
        halfRecord.writeInbound(Unpooled.buffer().writeInt(1000 | LAST_FRAGMENT).writeInt(7));
        busy.writeInbound(records(1));
        // Of its own address, where that has too many; then of any.
        EmbeddedChannel next = framed("10.0.0.1");
        assertThat(next.isOpen() && busy.isOpen() && other.isOpen()).isTrue();
        assertThat(halfRecord.isOpen()).isFalse();
        assertThat(framed("10.0.0.3").isOpen() && busy.isOpen() && next.isOpen()).isTrue();
        assertThat(other.isOpen()).isFalse();
        assertThat(framed("10.0.0.4").isOpen()).isFalse();
        now += ConnectionLimit.IDLE_NANOS;
        assertThat(framed("10.0.0.4").isOpen()).isTrue();
        assertThat(busy.isOpen()).isFalse();
        for (EmbeddedChannel each : List.of(halfRecord, busy, other, next)) {
            each.finishAndReleaseAll();
        }
    }

    private EmbeddedChannel framed(String host) {
        return new FromAddress(
                host,
                new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        NfsServer.addFraming(channel.pipeline(), connections);
                        channel.pipeline().addLast(new Program());
                    }
                });
    }
}
