// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Set;
import java.util.function.Consumer;

/** What the JDK promises of {@link Selector#wakeup}, by a monitor, which a model checker sees. */
final class ModelSelector extends Selector {

    private boolean isWoken;

    @Override
    public synchronized int select(Consumer<SelectionKey> action, long timeout) {
        while (!isWoken) {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        isWoken = false;
        return 0;
    }

    @Override
    public synchronized Selector wakeup() {
        isWoken = true;
        notifyAll();
        return this;
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public SelectorProvider provider() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Set<SelectionKey> keys() {
        return Set.of();
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        return Set.of();
    }

    @Override
    public int selectNow() {
        return 0;
    }

    @Override
    public int select(long timeout) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int select() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
}
