// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/** A TCP connection through a link: one to the client, one to the server. For the network's thread. */
final class ImpairedConnection {

    private final SocketChannel client;
    private final SocketChannel server;
    private final SelectionKey clientKey;
    private final SelectionKey serverKey;
    private final ImpairedFlow toServer;
    private final ImpairedFlow toClient;
    private boolean isOpen = true;

    ImpairedConnection(
            SocketChannel client, SocketChannel server, Selector selector, ImpairedLink link)
            throws IOException {
        this.client = client;
        this.server = server;
        for (SocketChannel end : new SocketChannel[] {client, server}) {
            end.configureBlocking(false);
            end.setOption(StandardSocketOptions.TCP_NODELAY, true);
        }
        clientKey = client.register(selector, 0, link);
        serverKey = server.register(selector, 0, link);
        toServer = new ImpairedFlow(client, server, true);
        toClient = new ImpairedFlow(server, client, false);
    }

    /** Returns the bytes that went on. */
    int pump(Impairment fault, long now, int most) {
        try {
            int moved = toServer.pump(fault, now, most);
            moved += toClient.pump(fault, now, most - moved);
            if (toServer.isShut() && toClient.isShut()) {
                close(false);
            } else {
                // What is impaired is looked at by the clock; a selector would call for it at once.
                boolean isWatched = fault == Impairment.NONE;
                clientKey.interestOps(isWatched ? interest(toServer, toClient) : 0);
                serverKey.interestOps(isWatched ? interest(toClient, toServer) : 0);
            }
            return moved;
        } catch (IOException e) {
            close(true); // one end has broken it, and so does the other
            return 0;
        }
    }

    private static int interest(ImpairedFlow in, ImpairedFlow out) {
        return (in.wantsBytes() ? SelectionKey.OP_READ : 0)
                | (out.wantsRoom() ? SelectionKey.OP_WRITE : 0);
    }

    boolean isOpen() {
        return isOpen;
    }

    void close(boolean isReset) {
        isOpen = false;
        close(client, isReset);
        close(server, isReset);
    }

    private static void close(SocketChannel end, boolean isReset) {
        try {
            if (isReset) {
                end.setOption(StandardSocketOptions.SO_LINGER, 0);
            }
            end.close();
        } catch (IOException e) {
            // It is gone.
        }
    }
}
