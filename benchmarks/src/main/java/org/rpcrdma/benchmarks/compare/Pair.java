// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.io.IOException;
import java.util.List;
import org.rpcrdma.benchmarks.Transport;

/** The client and the server of one transport, in two processes or in one. Both are stopped while no window runs. */
final class Pair implements AutoCloseable {

    private final Transport transport;
    private final WorkerProcess server;
    private final WorkerProcess client;

    Pair(Transport transport, boolean inOneProcess, List<String> jvmArguments)
            throws IOException, InterruptedException {
        this.transport = transport;
        server = new WorkerProcess(transport, jvmArguments);
        client = inOneProcess ? server : new WorkerProcess(transport, jvmArguments);
        String address = server.ask(Request.of(Request.Command.LISTEN)).address();
        client.ask(new Request(Request.Command.CONNECT, address, null, 0));
        suspend();
    }

    Transport transport() {
        return transport;
    }

    /** Again, when something else has used the CPUs. */
    Window run(Work work, long millis, int tries) throws IOException, InterruptedException {
        Window window = run(work, millis);
        for (int i = 1; i < tries && window.isShortOfCpu(); i++) {
            window = run(work, millis);
        }
        return window;
    }

    Window run(Work work, long millis) throws IOException, InterruptedException {
        server.resume();
        client.resume();
        try {
            Cost before = server.ask(Request.of(Request.Command.COST)).cost();
            Window window =
                    client.ask(new Request(Request.Command.RUN, null, work, millis)).window();
            Cost ofServer =
                    client == server
                            ? Cost.NOTHING
                            : server.ask(Request.of(Request.Command.COST)).cost().since(before);
            return window.with(ofServer);
        } finally {
            suspend();
        }
    }

    private void suspend() throws IOException, InterruptedException {
        client.suspend();
        server.suspend();
    }

    @Override
    public void close() {
        client.close();
        if (server != client) {
            server.close();
        }
    }
}
