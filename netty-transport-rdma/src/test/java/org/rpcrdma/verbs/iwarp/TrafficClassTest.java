// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import org.junit.jupiter.api.Test;

/** The traffic class of a queue pair is that of its TCP socket. */
class TrafficClassTest {

    private static final int EXPEDITED = 46 << 2;

    @Test
    void itIsSetWhenThereIsAConnectionAndWhenItChanges() throws Exception {
        QueuePairTcpSocket socket = new QueuePairTcpSocket();
        try (SocketChannel connection = SocketChannel.open()) {
            socket.trafficClass(EXPEDITED);
            socket.connection(connection);
            assertThat(connection.getOption(StandardSocketOptions.IP_TOS)).isEqualTo(EXPEDITED);
            socket.trafficClass(0);
            assertThat(connection.getOption(StandardSocketOptions.IP_TOS)).isZero();
        }
    }

    @Test
    void theDefaultOfTheSystemStaysWhereNobodyHasSetIt() throws Exception {
        QueuePairTcpSocket socket = new QueuePairTcpSocket();
        try (SocketChannel connection = SocketChannel.open()) {
            connection.setOption(StandardSocketOptions.IP_TOS, 8);
            socket.connection(connection);
            assertThat(connection.getOption(StandardSocketOptions.IP_TOS)).isEqualTo(8);
        }
    }
}
