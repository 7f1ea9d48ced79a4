// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.ReadChunkReplyConfig.ReplyChunks;
import org.rpcrdma.codec.fault.FaultContext.Delivery;
import org.rpcrdma.codec.fault.NthStep;
import org.rpcrdma.codec.fault.Step;

/** Replies in Read chunks, cut at each of their steps: every call ends once, and nothing is left at either side. */
class ReadChunkFaultTest {

    private FaultPair pair;

    @BeforeEach
    void open() {
        pair = new FaultPair();
    }

    @AfterEach
    void close() throws Exception {
        pair.close();
    }

    static List<Arguments> everything() {
        List<Arguments> all = new ArrayList<>();
        for (Form form : List.of(Form.LONG_REPLY, Form.ALL_CHUNKS, Form.APART_ALL)) {
            for (Role role : Role.values()) {
                for (Fault fault : Fault.values()) {
                    for (Delivery delivery : List.of(Delivery.AT_ONCE, Delivery.BATCHED)) {
                        all.add(Arguments.of(form, role, fault, delivery));
                    }
                }
            }
        }
        return all;
    }

    private static RpcRdmaConfig responder(Form form) {
        return ReadChunks.builder(ReplyChunks.NEVER)
                .grantedCredits(4)
                .annotatedCalls(form.isApart())
                .build();
    }

    @ParameterizedTest
    @MethodSource("everything")
    @Proves({"RR-08", "RR-15", "RR-23", "RR-29", "RR-32", "SEC-21"})
    void everyCallEndsOnceAndNothingIsLeft(Form form, Role role, Fault fault, Delivery delivery)
            throws Exception {
        List<Step> hit =
                Enumeration.run(
                        pair,
                        form,
                        role,
                        fault,
                        delivery,
                        () -> ReadChunks.builder(ReplyChunks.NEVER).requestedCredits(4).build(),
                        () -> responder(form));
        assertThat(hit).isNotEmpty();
    }

    /** The device has no handle for the reply: the call is refused, and the connection goes on. */
    @Test
    @Proves({"RR-15", "RR-27"})
    void aReplyThatCannotBeExposedIsRefused() throws Exception {
        try (FaultPair.Connection connection =
                pair.connect(
                        ReadChunks.config(),
                        ReadChunks.config(),
                        call -> inPieces(Form.LONG_REPLY.reply(Rpc.xid(call))))) {
            for (int at = 0; at < 3; at++) {
                NthStep refuse =
                        new NthStep(
                                at,
                                step -> step == Step.EXPOSE,
                                step -> {
                                    throw new IllegalStateException("the device refuses");
                                });
                connection.plan(Role.RESPONDER, refuse);
                int xid = Form.LONG_REPLY.xids() | at;
                connection.expectCalls(1);
                connection.call(Form.LONG_REPLY.call(xid));
                assertThat(connection.outcomes().get(xid)).contains("ErrChunkReplyException");
                assertThat(refuse.reached()).isEqualTo(Step.EXPOSE);
                int exposures =
                        RpcPair.on(
                                connection.responder,
                                () -> connection.queuePair(Role.RESPONDER).exposures());
                assertThat(exposures).isZero();
            }
            int xid = Form.LONG_REPLY.xids() | 9;
            connection.expectCalls(1);
            connection.call(Form.LONG_REPLY.call(xid));
            assertThat(connection.outcomes()).containsEntry(xid, "replied");
        }
    }

    /** All receives are promised to calls: a completion would find none. */
    @Test
    @Proves({"RR-21", "SEC-21"})
    void withoutAReceiveForItsCompletionNothingIsOffered() throws Exception {
        pair.receiveDepth(8);
        try (FaultPair.Connection connection =
                pair.connect(
                        ReadChunks.config(),
                        ReadChunks.config(),
                        call -> Form.LONG_REPLY.reply(Rpc.xid(call)))) {
            int xid = Form.LONG_REPLY.xids();
            connection.expectCalls(1);
            connection.call(Form.LONG_REPLY.call(xid));
            assertThat(connection.outcomes().get(xid)).contains("ErrChunkReplyException");
        }
    }

    private static ByteBuf inPieces(ByteBuf whole) {
        CompositeByteBuf parts = Unpooled.compositeBuffer();
        int third = whole.readableBytes() / 3;
        parts.addComponent(true, whole.readBytes(third));
        parts.addComponent(true, whole.readBytes(third));
        return parts.addComponent(true, whole);
    }

    /** What cannot be invalidated is not freed before the connection is gone (RFC 8166, 4.5.4). */
    @Test
    @Proves({"RR-23", "RR-14", "SEC-24"})
    void aReplyThatCannotBeInvalidatedCostsTheConnection() throws Exception {
        RpcRdmaConfig plain =
                ReadChunks.builder(ReplyChunks.NEVER).remoteInvalidation(false).build();
        try (FaultPair.Connection connection =
                pair.connect(plain, plain, call -> Form.LONG_REPLY.reply(Rpc.xid(call)))) {
            connection.plan(
                    Role.RESPONDER,
                    step -> {
                        if (step == Step.INVALIDATE) {
                            throw new IllegalStateException("the device refuses to invalidate");
                        }
                    });
            connection.expectCalls(1);
            connection.call(Form.LONG_REPLY.call(Form.LONG_REPLY.xids()));
            assertThat(connection.outcomes()).containsValue("replied");
            connection.responder.closeFuture().await();
        }
    }
}
