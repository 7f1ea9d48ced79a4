// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.CorruptedFrameException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RecordMarkingAdapterTest {

    @Test
    void inboundMessagesAreMarked() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(100));
        channel.writeInbound(Unpooled.buffer().writeInt(7).writeInt(1));
        ByteBuf marked = channel.readInbound();
        assertThat(marked.readableBytes()).isEqualTo(12);
        assertThat(marked.readInt()).isEqualTo(0x80000008);
        assertThat(marked.readLong()).isEqualTo(0x700000001L);
        marked.release();
        channel.finishAndReleaseAll();
    }

    @Property(tries = 300)
    void recordsComeOutWholeHoweverTheyAreCut(@ForAll long seed) {
        Random random = new Random(seed);
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(1000));
        List<byte[]> records = new ArrayList<>();
        ByteBuf stream = Unpooled.buffer();
        for (int i = random.nextInt(5); i > 0; i--) {
            byte[] record = Rpc.random(random.nextInt(200));
            records.add(record);
            int at = 0;
            while (record.length - at > 20 && random.nextBoolean()) {
                stream.writeInt(20).writeBytes(record, at, 20);
                at += 20;
            }
            stream.writeInt(0x80000000 | (record.length - at))
                    .writeBytes(record, at, record.length - at);
        }
        List<ChannelFuture> futures = new ArrayList<>();
        while (stream.isReadable()) {
            int length = 1 + random.nextInt(stream.readableBytes());
            futures.add(channel.writeAndFlush(stream.readBytes(length)));
        }
        for (byte[] record : records) {
            ByteBuf written = channel.readOutbound();
            assertThat(Rpc.bytes(written)).isEqualTo(record);
        }
        assertThat(channel.outboundMessages()).isEmpty();
        futures.forEach(future -> assertThat(future.isSuccess()).isTrue());
        assertThat(channel.finishAndReleaseAll()).isFalse();
    }

    @Test
    void recordsThatAreTooLongFail() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(100));
        ByteBuf tooLong = Unpooled.buffer().writeInt(0x80000065);
        assertThatThrownBy(() -> channel.writeAndFlush(tooLong).sync())
                .isInstanceOf(CorruptedFrameException.class)
                .hasMessageContaining("101");
        assertThat(tooLong.refCnt()).isZero();
        assertThat(channel.isOpen()).isFalse();
        channel.finishAndReleaseAll();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aMessageWithoutMemoryForItsMarkIsReleased(int buffers) {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(100));
        ScarceMemory memory = new ScarceMemory(buffers);
        channel.config().setAllocator(memory);
        ByteBuf message = Unpooled.buffer().writeInt(7);
        assertThatThrownBy(() -> channel.writeInbound(message))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(message.refCnt()).isZero();
        assertThat(memory.isBack()).isTrue();
        assertThat(channel.finish()).isFalse();
    }

    /** For what is collected, for two records, and for the rest. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4})
    void aWriteWithoutMemoryForItsRecordsIsReleased(int buffers) {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(100));
        ScarceMemory memory = new ScarceMemory(buffers);
        channel.config().setAllocator(memory);
        ByteBuf bytes = Unpooled.buffer().writeInt(0x80000004).writeInt(1);
        bytes.writeInt(0x80000004).writeInt(2).writeInt(0x80000004);
        assertThat(channel.writeAndFlush(bytes).cause()).isInstanceOf(OutOfMemoryError.class);
        assertThat(channel.outboundMessages()).isEmpty();
        // The next write would be taken for the beginning of a record.
        assertThat(channel.isOpen()).isFalse();
        assertThat(bytes.refCnt()).isZero();
        assertThat(memory.isBack()).isTrue();
        assertThat(channel.finish()).isFalse();
    }

    @Test
    void aWriteThatCannotBeCollectedIsReleased() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(Integer.MAX_VALUE));
        ByteBuf begun = Unpooled.buffer().writeInt(0x8000000a).writeInt(1);
        assertThat(channel.writeAndFlush(begun).isSuccess()).isTrue();
        ByteBuf longest = ScarceMemory.longest();
        ChannelFuture written = channel.writeAndFlush(longest.retainedSlice());
        assertThat(written.cause()).isInstanceOf(IllegalArgumentException.class);
        assertThat(longest.refCnt()).isOne();
        assertThat(begun.refCnt()).isZero();
        assertThat(channel.isOpen()).isFalse();
        longest.release();
        assertThat(channel.finish()).isFalse();
    }

    @Test
    void aRecordInFrontOfOneThatIsTooLongIsReleased() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(100));
        ByteBuf bytes = Unpooled.buffer().writeInt(0x80000004).writeInt(1).writeInt(0x80000065);
        assertThat(channel.writeAndFlush(bytes).cause())
                .isInstanceOf(CorruptedFrameException.class);
        assertThat(bytes.refCnt()).isZero();
        assertThat(channel.finish()).isFalse();
    }

    /** A write may tell handlers that the channel is not writable, and a promise its listeners: they may write. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aWriteWithinAWriteComesBehindIt(boolean isWhole) {
        ByteBuf inner = Unpooled.buffer().writeInt(0x80000004).writeInt(3);
        ByteBuf rest = Unpooled.buffer();
        (isWhole ? rest : inner).writeInt(0x80000004);
        rest.writeInt(4);
        List<ChannelPromise> written = new ArrayList<>();
        List<ChannelFuture> futures = new ArrayList<>();
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        new ChannelOutboundHandlerAdapter() {
                            @Override
                            public void write(
                                    ChannelHandlerContext ctx, Object record, ChannelPromise end) {
                                ctx.write(record, ctx.newPromise());
                                written.add(end);
                                if (written.size() == 1) {
                                    futures.add(ctx.channel().write(inner));
                                }
                            }
                        },
                        new RecordMarkingAdapter(100));
        ByteBuf outer = Unpooled.buffer().writeInt(0x80000004).writeInt(1);
        futures.add(channel.write(outer.writeInt(0x80000004).writeInt(2)));
        futures.add(channel.writeAndFlush(rest));
        for (int i = 1; i <= 4; i++) {
            ByteBuf record = channel.readOutbound();
            assertThat(record.readInt()).isEqualTo(i);
            record.release();
        }
        assertThat(futures).noneMatch(ChannelFuture::isDone);
        written.get(1).setSuccess();
        assertThat(futures.get(1).isSuccess()).isTrue();
        written.get(2).setSuccess();
        assertThat(futures.get(0).isSuccess()).isTrue();
        assertThat(futures.get(2).isDone()).isFalse();
        written.get(3).setSuccess();
        assertThat(futures.get(2).isSuccess()).isTrue();
        assertThat(channel.finish()).isFalse();
    }

    /** Does something more within the write of the first record. */
    private static class WriteWithin extends ChannelOutboundHandlerAdapter {

        private Consumer<Channel> more;

        WriteWithin(Consumer<Channel> more) {
            this.more = more;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object record, ChannelPromise end) {
            ctx.write(record, end);
            Consumer<Channel> now = more;
            more = within -> {};
            now.accept(ctx.channel());
        }
    }

    /** Its records that are whole have failed with it, and so have those of the write around it. */
    @Test
    void aWriteThatFailsWithinAWriteEndsBoth() {
        ChannelFuture[] inner = new ChannelFuture[1];
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        new WriteWithin(
                                within ->
                                        inner[0] =
                                                within.write(
                                                        Unpooled.buffer().writeInt(0x80000065))),
                        new RecordMarkingAdapter(100));
        ByteBuf outer = Unpooled.buffer().writeInt(0x80000004).writeInt(1);
        outer.writeInt(0x80000004).writeInt(2);
        ChannelFuture written = channel.writeAndFlush(outer);
        assertThat(inner[0].cause()).isInstanceOf(CorruptedFrameException.class);
        assertThat(written.cause()).isInstanceOf(CorruptedFrameException.class);
        assertThat(channel.isOpen()).isFalse();
        assertThat(outer.refCnt()).isZero();
        assertThat(channel.finish()).isFalse();
    }

    /** Nothing that comes behind it is taken for the rest of its records. */
    @Test
    void aWriteBehindAFailedOneFailsThoughTheCloseWaits() {
        Runnable[] close = new Runnable[1];
        ByteBuf inner = Unpooled.buffer().writeInt(0x80000004).writeInt(3).writeInt(0x80000065);
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        new WriteWithin(within -> within.write(inner)) {
                            @Override
                            public void close(ChannelHandlerContext ctx, ChannelPromise end) {
                                close[0] = () -> ctx.close(end);
                            }
                        },
                        new RecordMarkingAdapter(100));
        ByteBuf outer = Unpooled.buffer().writeInt(0x80000004).writeInt(1);
        outer.writeInt(0x80000004).writeInt(2);
        ByteBuf last = Unpooled.buffer().writeInt(0x80000004).writeInt(4);
        ChannelFuture[] told = new ChannelFuture[1];
        channel.write(outer).addListener(failed -> told[0] = channel.write(last));
        channel.flush();
        channel.releaseOutbound();
        assertThat(told[0].cause()).isInstanceOf(ClosedChannelException.class);
        assertThat(List.of(outer, inner, last)).allMatch(buffer -> buffer.refCnt() == 0);
        close[0].run();
        assertThat(channel.isOpen()).isFalse();
        assertThat(channel.finish()).isFalse();
    }

    @Test
    void whatIsNoBufferStaysBehindTheRecordsInFrontOfIt() {
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        new WriteWithin(within -> within.write("last")),
                        new RecordMarkingAdapter(100));
        ByteBuf outer = Unpooled.buffer().writeInt(0x80000004).writeInt(1);
        channel.writeOneOutbound(outer.writeInt(0x80000004).writeInt(2));
        channel.flush();
        for (int i = 1; i <= 2; i++) {
            ByteBuf record = channel.readOutbound();
            assertThat(record.readInt()).isEqualTo(i);
            record.release();
        }
        assertThat(channel.<Object>readOutbound()).isEqualTo("last");
        assertThat(channel.finish()).isFalse();
    }

    @Test
    void oldCodecsStayInThePipeline() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            RpcPair.on(
                    pair.clientChannel,
                    () ->
                            pair.clientChannel
                                    .pipeline()
                                    .addBefore(
                                            pair.clientChannel
                                                    .pipeline()
                                                    .context(pair.client)
                                                    .name(),
                                            null,
                                            new RecordMarkingAdapter(1 << 20)));
            byte[] call = Rpc.bytes(Rpc.write3(5, Rpc.random(9000)));
            pair.call(Unpooled.buffer().writeInt(0x80000000 | call.length).writeBytes(call));
            assertThat(pair.server.takeBytes()).isEqualTo(call);
            pair.reply(Rpc.reply(5));
            byte[] reply = pair.client.takeBytes();
            assertThat(reply).hasSize(28);
            assertThat(reply[0]).isEqualTo((byte) 0x80);
        }
    }
}
