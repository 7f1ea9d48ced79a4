// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.RecvByteBufAllocator;
import java.net.SocketAddress;
import java.util.function.Function;

/**
 * {@link Channel.Unsafe} of a channel that is not registered: refuses an event loop that does not fit before Netty
 * takes it, which would close the channel, and says what to do, which Netty does not. All other operations are those of
 * the channel.
 */
final class RegistrationCheckingUnsafe implements Channel.Unsafe {

    private final Channel.Unsafe channel;
    private final Function<EventLoop, Throwable> check;

    /** @param check says why the channel cannot be registered with an event loop; {@code null} if it can */
    RegistrationCheckingUnsafe(Channel.Unsafe channel, Function<EventLoop, Throwable> check) {
        this.channel = channel;
        this.check = check;
    }

    @Override
    public void register(EventLoop loop, ChannelPromise promise) {
        Throwable refusal = check.apply(loop);
        if (refusal == null) {
            channel.register(loop, promise);
        } else {
            promise.tryFailure(refusal);
        }
    }

    @Override
    @SuppressWarnings("deprecation") // as in the interface
    public RecvByteBufAllocator.Handle recvBufAllocHandle() {
        return channel.recvBufAllocHandle();
    }

    @Override
    public SocketAddress localAddress() {
        return channel.localAddress();
    }

    @Override
    public SocketAddress remoteAddress() {
        return channel.remoteAddress();
    }

    @Override
    public void bind(SocketAddress local, ChannelPromise promise) {
        channel.bind(local, promise);
    }

    @Override
    public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        channel.connect(remote, local, promise);
    }

    @Override
    public void disconnect(ChannelPromise promise) {
        channel.disconnect(promise);
    }

    @Override
    public void close(ChannelPromise promise) {
        channel.close(promise);
    }

    @Override
    public void closeForcibly() {
        channel.closeForcibly();
    }

    @Override
    public void deregister(ChannelPromise promise) {
        channel.deregister(promise);
    }

    @Override
    public void beginRead() {
        channel.beginRead();
    }

    @Override
    public void write(Object message, ChannelPromise promise) {
        channel.write(message, promise);
    }

    @Override
    public void flush() {
        channel.flush();
    }

    @Override
    public ChannelPromise voidPromise() {
        return channel.voidPromise();
    }

    @Override
    public ChannelOutboundBuffer outboundBuffer() {
        return channel.outboundBuffer();
    }
}
