// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import java.io.IOException;
import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;

/** The JDK's provider; remembers the selector it opened last. */
final class LastOpenedSelectorProvider extends SelectorProvider {

    private final SelectorProvider jdk = SelectorProvider.provider();

    private volatile Selector selector;

    /** The selector that is in use. Any thread. */
    Selector selector() {
        return selector;
    }

    @Override
    public AbstractSelector openSelector() throws IOException {
        AbstractSelector opened = jdk.openSelector();
        selector = opened;
        return opened;
    }

    @Override
    public DatagramChannel openDatagramChannel() throws IOException {
        return jdk.openDatagramChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
        return jdk.openDatagramChannel(family);
    }

    @Override
    public Pipe openPipe() throws IOException {
        return jdk.openPipe();
    }

    @Override
    public ServerSocketChannel openServerSocketChannel() throws IOException {
        return jdk.openServerSocketChannel();
    }

    @Override
    public SocketChannel openSocketChannel() throws IOException {
        return jdk.openSocketChannel();
    }
}
