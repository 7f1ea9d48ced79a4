// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The client and the server of one transport, in two processes or in one. Both are stopped while no window runs. */
final class Pair implements AutoCloseable {

    private static final int FIRST = 6;

    /** A warm-up is continued by slices of this part of its time. */
    private static final int SLICES = 5;

    /** So many in a row end it in which nothing was compiled, none of them clearly faster than all before. */
    private static final int ENOUGH_SLICES = 3;

    private static final int MOST_SLICES = 40;
    private static final double CLEARLY = 1.1;

    private final Set<Application> warm = EnumSet.noneOf(Application.class);
    private final Contender contender;
    private final WorkerProcess server;
    private final WorkerProcess client;

    Pair(Contender contender, boolean inOneProcess, List<String> jvmArguments)
            throws IOException, InterruptedException {
        this.contender = contender;
        server = new WorkerProcess(contender.name(), jvmArguments);
        client = inOneProcess ? server : new WorkerProcess(contender.name(), jvmArguments);
        Map<Application, String> addresses =
                server.ask(Request.of(Request.Command.LISTEN)).addresses();
        client.ask(new Request(Request.Command.CONNECT, addresses, null, 0));
        suspend();
    }

    Contender contender() {
        return contender;
    }

    /**
     * JVMs that have not made calls of this kind compile for seconds, and for longer where loops that never block leave
     * the compilers little of the CPUs: calls are made until nothing is compiled, and they do not become faster any
     * more.
     *
     * @param millis of each work; 0 for no warm-up
     */
    void warmUp(Work work, long millis) throws IOException, InterruptedException {
        if (millis == 0) {
            return;
        }
        run(work, warm.add(work.application()) ? millis * FIRST : millis);
        long slice = Math.max(1, millis / SLICES);
        double best = 0;
        int settled = 0;
        for (int i = 0; i < MOST_SLICES && settled < ENOUGH_SLICES; i++) {
            Window window = run(work, slice);
            double rate = window.callsPerSecond();
            settled = rate > best * CLEARLY || !window.isCompiled() ? 0 : settled + 1;
            best = Math.max(best, rate);
        }
    }

    /** Again, when something else has used the CPUs. */
    Window run(Work work, long millis, int tries) throws IOException, InterruptedException {
        Window window = run(work, millis);
        for (int i = 1; i < tries && window.isDisturbed(); i++) {
            window = run(work, millis);
        }
        return window;
    }

    Window run(Work work, long millis) throws IOException, InterruptedException {
        resume();
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

    /** The memory of both processes that is in use. */
    long memory() throws IOException, InterruptedException {
        resume();
        try {
            Request request = Request.of(Request.Command.MEMORY);
            long bytes = server.ask(request).bytes();
            return client == server ? bytes : bytes + client.ask(request).bytes();
        } finally {
            suspend();
        }
    }

    private void resume() throws IOException, InterruptedException {
        server.resume();
        if (client != server) {
            client.resume();
        }
    }

    private void suspend() throws IOException, InterruptedException {
        client.suspend();
        if (client != server) {
            server.suspend();
        }
    }

    @Override
    public void close() {
        client.close();
        if (server != client) {
            server.close();
        }
    }
}
