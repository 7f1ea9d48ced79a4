// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import org.junit.jupiter.api.Test;

class RpcRdmaConfigTest {

    @Test
    void whatIsBuiltDoesNotFollowItsBuilder() {
        RpcRdmaConfig.Builder builder = RpcRdmaConfig.builder().grantedCredits(5).minimumCredits(9);
        RpcRdmaConfig first = builder.build();
        RpcRdmaConfig second = builder.grantedCredits(20).sendSize(8192).build();
        assertThat(first.grantedCredits()).isEqualTo(5);
        assertThat(first.minimumCredits()).isEqualTo(5);
        assertThat(first.privateData().sendSize()).isEqualTo(4096);
        assertThat(second.grantedCredits()).isEqualTo(20);
        assertThat(second.minimumCredits()).isEqualTo(9);
        assertThat(second.privateData().sendSize()).isEqualTo(8192);
    }

    @Test
    void whatIsBuiltAlikeIsEqual() {
        RpcRdmaConfig one = full().build();
        assertThat(one).isEqualTo(full().build()).hasSameHashCodeAs(full().build());
        assertThat(RpcRdmaConfig.defaults()).isEqualTo(RpcRdmaConfig.defaults()).isNotEqualTo(one);
        assertThat(full().clearSinks(true).build()).isNotEqualTo(one);
        assertThat(full().versionTwo(VersionTwoConfig.defaults()).build()).isNotEqualTo(one);
        assertThat(full().readChunkReplies(ReadChunkReplyConfig.DEFAULT).build()).isNotEqualTo(one);
    }

    private static RpcRdmaConfig.Builder full() {
        return RpcRdmaConfig.builder()
                .grantedCredits(7)
                .maxChunkErrors(3)
                .annotatedCalls(true)
                .versionTwo(VersionTwoConfig.builder().probeTimeoutMillis(5).build())
                .readChunkReplies(ReadChunkReplyConfig.DEFAULT.withOptionType(4));
    }

    /** An option that is new counts for equality too. */
    @Test
    void allOptionsAreCompared() {
        int fields = 0;
        for (Class<?> type = RpcRdmaConfig.Builder.class;
                type != Object.class;
                type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !field.isSynthetic()) {
                    fields++;
                }
            }
        }
        assertThat(RpcRdmaConfig.builder().values()).hasSize(fields);
    }

    @Test
    void eachBootstrapRemembersThePeersOfItsOwnChannels() {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        Object server = memory(config);
        assertThat(server).isNotNull().isNotSameAs(memory(config));
        assertThat(
                        config.applyTo(new Bootstrap())
                                .config()
                                .attrs()
                                .get(CrossConnectionPeerState.KEY))
                .isNotNull()
                .isNotSameAs(server);
    }

    private static Object memory(RpcRdmaConfig config) {
        return config.applyTo(new ServerBootstrap())
                .config()
                .childAttrs()
                .get(CrossConnectionPeerState.KEY);
    }
}
