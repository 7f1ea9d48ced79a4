// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.AbstractScheduledEventExecutor;
import io.netty.util.concurrent.ScheduledFuture;
import io.netty.util.concurrent.SingleThreadEventExecutor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.rpcrdma.verbs.QueuePairHandler;

/** Looks into channels while no simulated thread runs. */
public final class SimulatedChannels {

    private static final Field CHANNEL = field(QueuePairEventHandler.class, "channel");
    private static final Field UNFLUSHED = field(ChannelOutboundBuffer.class, "unflushedEntry");
    private static final Field FLUSHED = field(UnbufferedMessages.class, "flushed");
    private static final Field WRITTEN = field(UnbufferedMessages.class, "tail");
    private static final Field INCOMPLETE_SEND =
            field(MessageChannelDataPath.class, "incompleteSend");
    private static final Field SENDS = field(MessageChannelDataPath.class, "sends");
    private static final Field QUOTA = field(ChannelIncompleteMessageQuotaShare.class, "bytes");

    private static final Field TIMERS =
            field(AbstractScheduledEventExecutor.class, "scheduledTaskQueue");
    private static final Field TASK = task();

    private static final Map<Class<?>, Field[]> FIELDS = new ConcurrentHashMap<>();

    private SimulatedChannels() {}

    /** {@return the channel that is told of a queue pair} {@code null} when somebody else is. */
    public static Channel of(QueuePairHandler handler) {
        return handler instanceof QueuePairEventHandler ? (Channel) value(CHANNEL, handler) : null;
    }

    /** {@return whether the event loop of a channel has nothing to do but to wait} */
    public static boolean isIdle(Channel channel) {
        return ((SingleThreadEventExecutor) channel.eventLoop()).pendingTasks() == 0;
    }

    /** {@return whether something was written to a channel and is not flushed} */
    public static boolean hasUnflushed(Channel channel) {
        ChannelOutboundBuffer written = channel.unsafe().outboundBuffer();
        if (written != null && value(UNFLUSHED, written) != null) {
            return true;
        }
        return ((AbstractConnectedRdmaChannel) channel).dataPath()
                        instanceof MessageChannelDataPath messages
                && (int) value(FLUSHED, messages.unbuffered())
                        != (int) value(WRITTEN, messages.unbuffered());
    }

    /**
     * {@return the bytes that count against the address of a peer though no part of a message is missing} That is,
     * while no Read is out, none waits to be posted, and no Send has come in part.
     */
    public static long bytesOfNoMessage(Channel channel) {
        AbstractChannelDataPath<?> path = ((AbstractConnectedRdmaChannel) channel).dataPath();
        ChannelOutboundBuffer written = channel.unsafe().outboundBuffer();
        if (!(path instanceof MessageChannelDataPath messages)
                || written == null
                || !written.isEmpty()
                || !messages.unbuffered().isEmpty()
                || !((SendQueuePoster) value(SENDS, path)).isEmpty()
                || (int) value(INCOMPLETE_SEND, path) > 0) {
            return 0;
        }
        return (long) value(QUOTA, messages.incomplete);
    }

    /**
     * Returns the timers that are reached from somewhere and have not ended, by the names of their fields.
     *
     * @param roots where to begin
     * @param isEntered of which classes the fields are looked at
     */
    public static List<String> timers(List<?> roots, Predicate<Class<?>> isEntered) {
        List<String> found = new ArrayList<>();
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> left = new ArrayDeque<>(roots);
        seen.addAll(roots);
        while (!left.isEmpty()) {
            Object owner = left.poll();
            for (Field field : fields(owner.getClass())) {
                Object next = value(field, owner);
                if (next instanceof ScheduledFuture<?> timer) {
                    if (!timer.isDone()) {
                        found.add(owner.getClass().getSimpleName() + '.' + field.getName());
                    }
                } else if (next != null && isEntered.test(next.getClass()) && seen.add(next)) {
                    left.add(next);
                }
            }
        }
        return found;
    }

    /** {@return the channels that timers of an event loop reach, by objects of those classes} */
    public static Set<Channel> timed(EventLoop loop, Predicate<Class<?>> isEntered) {
        Set<Channel> channels = Collections.newSetFromMap(new IdentityHashMap<>());
        Iterable<?> timers = (Iterable<?>) value(TIMERS, loop);
        if (timers == null) {
            return channels;
        }
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> left = new ArrayDeque<>();
        for (Object timer : timers) {
            if (!((ScheduledFuture<?>) timer).isDone()) {
                enter(value(TASK, timer), left, seen, isEntered);
            }
        }
        while (!left.isEmpty()) {
            Object owner = left.poll();
            if (owner instanceof Channel channel) {
                channels.add(channel);
                continue;
            }
            for (Field field : fields(owner.getClass())) {
                enter(value(field, owner), left, seen, isEntered);
            }
        }
        return channels;
    }

    private static void enter(
            Object next, Deque<Object> left, Set<Object> seen, Predicate<Class<?>> isEntered) {
        if (next != null
                && (next instanceof Channel || isEntered.test(next.getClass()))
                && seen.add(next)) {
            left.add(next);
        }
    }

    private static Field[] fields(Class<?> type) {
        return FIELDS.computeIfAbsent(
                type,
                any -> {
                    List<Field> all = new ArrayList<>();
                    for (Class<?> each = type;
                            each != null && each.getName().startsWith("org.rpcrdma.");
                            each = each.getSuperclass()) {
                        for (Field field : each.getDeclaredFields()) {
                            boolean isReference = !field.getType().isPrimitive();
                            if (isReference && !Modifier.isStatic(field.getModifiers())) {
                                field.setAccessible(true);
                                all.add(field);
                            }
                        }
                    }
                    return all.toArray(new Field[0]);
                });
    }

    private static Field task() {
        try {
            return field(Class.forName("io.netty.util.concurrent.PromiseTask"), "task");
        } catch (ClassNotFoundException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    /** {@return what a field of {@link #field} has} */
    public static Object value(Field field, Object owner) {
        try {
            return field.get(owner);
        } catch (IllegalAccessException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    /** {@return a field of any class, which checks read and nobody else has to see} */
    public static Field field(Class<?> owner, String name) {
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }
}
