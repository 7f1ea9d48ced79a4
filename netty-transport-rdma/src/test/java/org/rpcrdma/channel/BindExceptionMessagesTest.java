// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.BindException;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

class BindExceptionMessagesTest {

    @Test
    void aSocketsFailureGetsTheAddressAndWhatToDo() {
        BindException socket = new BindException("Address already in use");
        assertThat(BindExceptionMessages.explained("listen at", address(20049), socket))
                .hasMessage(
                        "Cannot listen at /192.0.2.1:20049: Address already in use; the port has to"
                                + " be free, and the address one of this machine")
                .hasCause(socket);
    }

    @Test
    void aLowPortMayNeedAPrivilege() {
        BindException socket = new BindException("Permission denied");
        assertThat(BindExceptionMessages.explained("listen at", address(1023), socket))
                .hasMessageEndingWith("; ports below 1024 may need a privilege");
        assertThat(BindExceptionMessages.explained("listen at", address(0), socket))
                .hasMessageEndingWith("one of this machine");
    }

    @Test
    void aSentenceThatIsThereStays() {
        BindException device = new BindException("Cannot listen at /192.0.2.1:7: no device");
        assertThat(BindExceptionMessages.explained("listen at", address(7), device))
                .isSameAs(device);
    }

    private static InetSocketAddress address(int port) {
        return new InetSocketAddress("192.0.2.1", port);
    }
}
