// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.wire.TransportHeader;

/** An object that is used again is like a new one: no field is forgotten, whichever is added. */
class OutboundCallResetTest {

    private static final List<ByteBuf> OWNED = new ArrayList<>();

    /** A value that no new object has. */
    private static Object used(Class<?> type, Object initial) throws Exception {
        if (type == boolean.class) {
            return !(boolean) initial;
        }
        if (type == int.class) {
            return 7;
        }
        if (type == long.class) {
            return 7L;
        }
        if (type.isEnum()) {
            Object[] constants = type.getEnumConstants();
            return constants[initial == constants[0] ? 1 : 0];
        }
        if (type == ByteBuf.class) {
            ByteBuf owned = Unpooled.buffer(8);
            OWNED.add(owned);
            return owned;
        }
        if (type == OptionalOperationMessage.class) {
            return OptionalOperationMessage.call(1, 2, new byte[0]);
        }
        if (type == RpcMessage.class) {
            return new RpcMessage(Unpooled.EMPTY_BUFFER);
        }
        if (type == ChannelPromise.class) {
            return new EmbeddedChannel().newPromise();
        }
        if (type == VersionInlineThresholds.class) {
            return new VersionInlineThresholds(TransportHeader.VERSION_ONE, 1024, 1024);
        }
        if (RpcRdmaException.class.isAssignableFrom(type)) {
            return new ReplyPullException("none");
        }
        return initial; // a pull is freed, and belongs to its connection
    }

    private static List<Field> state(Class<?> type) {
        List<Field> fields = new ArrayList<>();
        for (Field field : type.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers())
                    && !Modifier.isFinal(field.getModifiers())
                    && !field.getType().isArray()) {
                field.setAccessible(true);
                fields.add(field);
            }
        }
        return fields;
    }

    private static void isLikeNew(Object part, Object fresh, Runnable clear) throws Exception {
        assertThat(state(part.getClass())).isNotEmpty();
        for (Field field : state(part.getClass())) {
            field.set(part, used(field.getType(), field.get(fresh)));
        }
        clear.run();
        for (Field field : state(part.getClass())) {
            assertThat(field.get(part)).as(field.toString()).isEqualTo(field.get(fresh));
        }
        assertThat(OWNED).allMatch(buffer -> buffer.refCnt() == 0);
    }

    @Test
    void request() throws Exception {
        OutboundCallRequest part = new OutboundCallRequest();
        isLikeNew(part, new OutboundCallRequest(), part::clear);
    }

    @Test
    void payload() throws Exception {
        OutboundPayloadStreamWithItems part = new OutboundPayloadStreamWithItems();
        isLikeNew(part, new OutboundPayloadStreamWithItems(), part::clear);
    }

    @Test
    void chunks() throws Exception {
        OutboundCallChunks part = new OutboundCallChunks();
        isLikeNew(part, new OutboundCallChunks(), part::clear);
    }

    @Test
    void reply() throws Exception {
        InboundReplyState part = new InboundReplyState();
        isLikeNew(part, new InboundReplyState(), part::clear);
    }

    @Test
    void call() throws Exception {
        OutboundCallState part = new OutboundCallState(null);
        isLikeNew(part, new OutboundCallState(null), part::clear);
    }
}
