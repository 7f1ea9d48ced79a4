// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
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
        assertThat(first.metrics()).isNotSameAs(second.metrics());
    }

    @Test
    void eachBootstrapRemembersThePeersOfItsOwnChannels() {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        Object server = memory(config);
        assertThat(server).isNotNull().isNotSameAs(memory(config));
        assertThat(config.applyTo(new Bootstrap()).config().attrs().get(PeerCache.KEY))
                .isNotNull()
                .isNotSameAs(server);
    }

    private static Object memory(RpcRdmaConfig config) {
        return config.applyTo(new ServerBootstrap()).config().childAttrs().get(PeerCache.KEY);
    }
}
