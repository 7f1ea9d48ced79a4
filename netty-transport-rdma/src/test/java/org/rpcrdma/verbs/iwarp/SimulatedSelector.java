// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Selects sockets of a {@link SimulatedNetwork}. Each selection is a point at which another thread may be scheduled.
 */
final class SimulatedSelector extends AbstractSelector implements SimulatedThreads.WaitCondition {

    /** A channel that this selector selects. */
    interface Socket {
        int readyOperations();
    }

    private final SimulatedNetwork network;

    /** A list, because each step of the network goes through it. */
    private final List<Key> keys = new ArrayList<>();

    private final Set<SelectionKey> selected = new LinkedHashSet<>();
    private boolean isWoken;
    private long deadline;

    /** Whether it comes from a wait, where others were scheduled, and need not be here. */
    private boolean hasWaited;

    SimulatedSelector(SimulatedNetwork network) {
        super(network);
        this.network = network;
    }

    @Override
    protected void implCloseSelector() {
        keys.clear();
        selected.clear();
    }

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
        Key key = new Key(this, channel);
        key.attach(attachment);
        key.interestOps(ops);
        keys.add(key);
        return key;
    }

    @Override
    public Set<SelectionKey> keys() {
        return Set.copyOf(keys);
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        return selected;
    }

    @Override
    public int selectNow() {
        if (hasWaited) {
            hasWaited = false;
        } else {
            long pause = network.pollNanos();
            deadline = network.nanoTime() + pause;
            network.threads.await(pause == 0 ? null : this);
        }
        return collect();
    }

    @Override
    public int select() {
        return select(0);
    }

    @Override
    public int select(long millis) {
        deadline =
                millis == 0
                        ? Long.MAX_VALUE
                        : network.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        network.threads.await(this);
        hasWaited = network.skipsPolls();
        return collect();
    }

    /** In the order of registration. The usual implementation takes that of a hash table. */
    @Override
    public int selectNow(Consumer<SelectionKey> action) {
        selectNow();
        return consume(action);
    }

    @Override
    public int select(Consumer<SelectionKey> action) {
        select(0);
        return consume(action);
    }

    @Override
    public int select(Consumer<SelectionKey> action, long millis) {
        select(millis);
        return consume(action);
    }

    private int consume(Consumer<SelectionKey> action) {
        List<SelectionKey> ready = new ArrayList<>(selected);
        selected.clear();
        ready.forEach(action);
        return ready.size();
    }

    private int collect() {
        isWoken = false;
        synchronized (cancelledKeys()) {
            for (SelectionKey key : new ArrayList<>(cancelledKeys())) {
                keys.remove((Key) key);
                selected.remove(key);
                deregister((AbstractSelectionKey) key);
            }
            cancelledKeys().clear();
        }
        selected.clear();
        for (int i = 0; i < keys.size(); i++) {
            if (keys.get(i).isReady()) {
                selected.add(keys.get(i));
            }
        }
        return selected.size();
    }

    @Override
    public Selector wakeup() {
        isWoken = true;
        return this;
    }

    @Override
    public boolean isMet(long now) {
        if (isWoken || now >= deadline) {
            return true;
        }
        for (int i = 0; i < keys.size(); i++) {
            if (keys.get(i).isReady()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public long deadline() {
        return deadline;
    }

    private static final class Key extends AbstractSelectionKey {

        private final SimulatedSelector selector;
        private final SelectableChannel channel;
        private int interest;

        Key(SimulatedSelector selector, SelectableChannel channel) {
            this.selector = selector;
            this.channel = channel;
        }

        boolean isReady() {
            return isValid() && (((Socket) channel).readyOperations() & interest) != 0;
        }

        private void check() {
            if (!isValid()) {
                throw new CancelledKeyException();
            }
        }

        @Override
        public SelectableChannel channel() {
            return channel;
        }

        @Override
        public Selector selector() {
            return selector;
        }

        @Override
        public int interestOps() {
            check();
            return interest;
        }

        @Override
        public SelectionKey interestOps(int ops) {
            check();
            interest = ops;
            return this;
        }

        @Override
        public int readyOps() {
            check();
            return ((Socket) channel).readyOperations() & interest;
        }
    }
}
