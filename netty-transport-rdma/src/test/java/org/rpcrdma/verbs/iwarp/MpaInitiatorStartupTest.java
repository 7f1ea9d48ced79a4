// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFile;

/** A start-up that fails for lack of memory is told, and leaves nothing behind. */
class MpaInitiatorStartupTest {

    private static final IwarpConfig CONFIG = IwarpConfig.builder().sharedMemory(false).build();

    private final OutOfMemoryError lack = new OutOfMemoryError("no heap");
    private final List<Throwable> told = new ArrayList<>();
    private IwarpContextResources loop;

    private final MpaInitiatorStartup.Owner owner =
            new MpaInitiatorStartup.Owner() {
                @Override
                public void established(
                        SocketChannel channel,
                        SelectionKey key,
                        SharedRingFile shared,
                        MpaNegotiation agreed,
                        byte[] privateData) {
                    throw new AssertionError();
                }

                @Override
                public void connectFailed(Throwable cause) {
                    told.add(cause);
                }
            };

    @BeforeEach
    void open() throws IOException {
        loop =
                new IwarpContextResources(
                        CONFIG,
                        IwarpHost.SYSTEM,
                        DirectMemoryBudget.jvm(),
                        new SharedMemoryNegotiation(CONFIG));
    }

    @AfterEach
    void close() {
        loop.close();
    }

    @Test
    void aFailureIsToldWhereTheSocketCannotBeClosed() {
        InetSocketAddress nowhere = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
        MpaInitiatorStartup startup =
                new MpaInitiatorStartup(loop, owner, Pair.SIZE, nowhere, new byte[0], 1);
        // Closing a socket puts its key on a list, for which there may be no memory.
        ClosingChannel unclosable =
                new ClosingChannel(
                        () -> {
                            throw lack;
                        });
        assertThatThrownBy(() -> startup.start(unclosable, null)).isSameAs(lack);
        assertThat(told).hasSize(1).first().isInstanceOf(UnknownHostException.class);
        assertThat(loop.startups.isEmpty()).isTrue();
        assertThat(loop.timers.isEmpty()).isTrue();
        // Its timer may be called once more, which neither tells nor counts it again.
        startup.expired();
        assertThat(told).hasSize(1);
        assertThat(loop.counters.startupsTimedOut).isZero();
    }
}
