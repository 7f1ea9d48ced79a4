// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * TCP relays, all on one thread. They are where faults are made: what the ends see is TCP that delays, stalls, ends or
 * says nothing at all.
 */
final class ImpairedNetwork implements AutoCloseable {

    private static final long WATCH_MILLIS = 1;
    private static final long IDLE_MILLIS = 20;

    private final Selector selector = Selector.open();
    private final List<ImpairedLink> links = new CopyOnWriteArrayList<>();
    private final Thread thread = new Thread(this::run, "impaired-network");
    private volatile boolean isClosed;

    ImpairedNetwork() throws IOException {
        thread.setDaemon(true);
        thread.start();
    }

    /** A link to that server, which listens for as many connections as come. */
    ImpairedLink link(InetSocketAddress target) throws IOException {
        ImpairedLink link = new ImpairedLink(target, selector);
        link.listen();
        links.add(link);
        selector.wakeup();
        return link;
    }

    private void run() {
        try {
            boolean isWatched = false;
            while (!isClosed) {
                selector.select(isWatched ? WATCH_MILLIS : IDLE_MILLIS);
                long now = System.nanoTime();
                for (SelectionKey key : selector.selectedKeys()) {
                    ((ImpairedLink) key.attachment()).pump(now);
                }
                selector.selectedKeys().clear();
                isWatched = false;
                for (ImpairedLink link : links) {
                    isWatched |= link.isWatched() && link.pump(now);
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException("The network of the run has failed: " + e, e);
        }
    }

    @Override
    public void close() throws Exception {
        isClosed = true;
        selector.wakeup();
        thread.join();
        for (ImpairedLink link : links) {
            link.close();
        }
        selector.close();
    }
}
