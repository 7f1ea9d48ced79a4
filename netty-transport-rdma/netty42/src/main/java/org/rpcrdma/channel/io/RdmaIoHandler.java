// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import static io.netty.util.internal.ObjectUtil.checkNotNull;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.IoRegistration;
import io.netty.channel.nio.NioIoHandle;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.SingleThreadEventExecutor;
import io.netty.util.concurrent.ThreadAwareExecutor;
import java.io.IOException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.internal.IoHandlerPoller;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * RDMA as the I/O of an event loop of Netty 4.2: {@code new MultiThreadIoEventLoopGroup(RdmaIoHandler.newFactory())}
 * takes {@link org.rpcrdma.channel.RdmaChannel RdmaChannel}, {@link org.rpcrdma.channel.RdmaStreamChannel
 * RdmaStreamChannel} and their server channels, as an {@link org.rpcrdma.channel.RdmaEventLoopGroup} does.
 *
 * <p>The loop also takes NIO channels, such as the datagram channel of a DNS resolver. From the first one on it has a
 * second thread, which waits for NIO's selector alone and runs nothing of a channel.
 *
 * <p>Differences to an {@code RdmaEventLoopGroup}: scheduled tasks use Netty's clock; a shutdown closes the channels at
 * once, before its quiet period, and while the posted work of closing channels ends the loop runs no tasks, for 5 s at
 * most whatever {@code SO_LINGER} and {@code DRAIN_MILLIS} of the channels say.
 */
public final class RdmaIoHandler implements IoHandler {

    /** Netty 4.2.0 has no such method, and asks nobody for the time. */
    private static final boolean REPORTS_TIME = hasMethod("shouldReportActiveIoTime");

    private final IoEventLoop loop;
    private final IoHandlerPoller poller;
    private final Map<Channel, IoRegistration> registrations = new HashMap<>();

    /** Of the current round; {@code null} before the first one. */
    private IoHandlerContext context;

    /** {@code null} before the first NIO channel. */
    private UserNioChannelSelectorThread nio;

    private boolean isShuttingDown;

    private RdmaIoHandler(IoEventLoop loop, VerbsProvider provider, PollMode mode) {
        this.loop = loop;
        try {
            this.poller = IoHandlerPoller.open(provider, mode, loop, new PolledLoop());
        } catch (IOException e) {
            throw new ChannelException("the device cannot be opened: " + e.getMessage(), e);
        }
    }

    /**
     * Handlers on the provider that is preferred, adaptive.
     *
     * @return what makes the handler of each event loop
     */
    public static IoHandlerFactory newFactory() {
        return newFactory(Rdma.provider(), PollMode.ADAPTIVE);
    }

    /**
     * Handlers on a provider.
     *
     * @param provider the device, see {@link Rdma#provider(String)}
     * @param mode how the loops wait; with {@link PollMode#BUSY} each takes a whole CPU
     * @return what makes the handler of each event loop
     */
    public static IoHandlerFactory newFactory(VerbsProvider provider, PollMode mode) {
        checkNotNull(provider, "provider");
        checkNotNull(mode, "mode");
        return executor -> new RdmaIoHandler(eventLoop(executor), provider, mode);
    }

    private static IoEventLoop eventLoop(ThreadAwareExecutor executor) {
        if (executor instanceof IoEventLoop loop) {
            return loop;
        }
        throw new IllegalArgumentException(
                "executor: "
                        + executor
                        + " (expected: an IoEventLoop, as a MultiThreadIoEventLoopGroup makes)");
    }

    private static boolean hasMethod(String name) {
        for (Method method : IoHandlerContext.class.getMethods()) {
            if (method.getName().equals(name)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void initialize() {
        if (loop instanceof SingleThreadEventExecutor executor) {
            // A loop that learns of its shutdown while it runs tasks, and has no quiet period, does
            // not have its handler prepare. Its hooks run while it still takes the tasks of
            // closing.
            executor.addShutdownHook(this::prepareToDestroy);
        }
    }

    @Override
    public int run(IoHandlerContext round) {
        context = round;
        boolean reportsTime = REPORTS_TIME && round.shouldReportActiveIoTime();
        int handled = 0;
        long activeNanos = 0;
        if (nio != null) {
            long begin = reportsTime ? System.nanoTime() : 0;
            handled = nio.run();
            if (reportsTime && handled > 0) {
                activeNanos = System.nanoTime() - begin;
            }
        }
        handled += poller.poll();
        if (reportsTime) {
            round.reportActiveIoTime(activeNanos + poller.activeNanos());
        }
        return handled;
    }

    @Override
    public void wakeup() {
        poller.wakeup(loop.inEventLoop());
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException when it is of another transport
     * @throws RejectedExecutionException when the event loop shuts down
     */
    @Override
    public IoRegistration register(IoHandle handle) throws Exception {
        checkNotNull(handle, "handle");
        if (!isCompatible(handle.getClass())) {
            throw new IllegalArgumentException(
                    "handle: "
                            + handle
                            + " (expected: of an RDMA channel or of a NIO channel; other transports"
                            + " need an event loop group of their own)");
        }
        if (isShuttingDown) {
            throw new RejectedExecutionException("event loop shuts down");
        }
        if (handle instanceof RdmaIoHandle) {
            return new RdmaIoRegistration();
        }
        if (nio == null) {
            nio = new UserNioChannelSelectorThread(loop, () -> poller.wakeup(false));
        }
        return nio.register(handle);
    }

    @Override
    public boolean isCompatible(Class<? extends IoHandle> handleType) {
        return RdmaIoHandle.class.isAssignableFrom(handleType)
                || NioIoHandle.class.isAssignableFrom(handleType);
    }

    @Override
    public void prepareToDestroy() {
        isShuttingDown = true;
        if (nio != null) {
            nio.prepareToDestroy();
        }
        poller.closeChannels();
    }

    @Override
    public void destroy() {
        prepareToDestroy();
        if (nio != null) {
            nio.destroy();
        }
        poller.close();
    }

    /** The event loop, as the device sees it. */
    private final class PolledLoop implements IoHandlerPoller.Loop {
        @Override
        public boolean canBlock() {
            return !isShuttingDown && context.canBlock();
        }

        @Override
        public long nanosToNextTask() {
            return context.deadlineNanos() == -1
                    ? -1
                    : Math.max(0, context.delayNanos(System.nanoTime()));
        }

        @Override
        public void register(Channel channel) throws Exception {
            Future<IoRegistration> registered = loop.register(new RdmaIoHandle(channel));
            if (!registered.isSuccess()) {
                throw new IllegalStateException(
                        "the event loop does not take " + channel, registered.cause());
            }
            registrations.put(channel, registered.getNow());
        }

        @Override
        public void deregister(Channel channel) {
            registrations.remove(channel).cancel();
        }
    }
}
