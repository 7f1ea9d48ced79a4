// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.Device;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.FaultPair.Role;

/** Flag R is set where the configuration wants it and the device can (RFC 8797, 4.1). */
class InvalidationByDeviceTest {

    @ParameterizedTest
    @EnumSource
    @Proves("PD-14")
    @NeedsDevice("privateDataOnAccept")
    void whatADeviceCannotDoIsNotAnnounced(Role unable) throws Exception {
        Role other = unable == Role.REQUESTER ? Role.RESPONDER : Role.REQUESTER;
        RpcRdmaConfig config = RpcPair.usual().build();
        try (FaultPair pair = new FaultPair()) {
            pair.device(unable).withoutRemoteInvalidation();
            try (FaultPair.Connection connection =
                    pair.connect(config, config, call -> Rpc.reply(1))) {
                RpcRdmaConnection able = RpcRdmaConnection.of(connection.channel(other));
                RpcRdmaConnection not = RpcRdmaConnection.of(connection.channel(unable));
                assertThat(able.peer())
                        .isEqualTo(not.announced())
                        .isEqualTo(config.privateData().withoutInvalidation());
                assertThat(not.peer()).isEqualTo(able.announced());
                assertThat(able.announced().remoteInvalidation())
                        .isEqualTo(Device.can("remoteInvalidation"));
            }
        }
    }
}
