// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Meters for Prometheus to scrape: {@code GET /metrics}. A few requests at a time, on threads of their own. */
public final class MetricsServer implements AutoCloseable {

    private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

    /** A client that sends half a request has a thread for so long. */
    private static final String REQUEST_SECONDS = "5";

    /** As does one that takes half an answer. */
    private static final String ANSWER_SECONDS = "30";

    private static final int THREADS = 4;
    private static final int OK = 200;
    private static final int NOT_FOUND = 404;
    private static final int NOT_ALLOWED = 405;

    static {
        // The JDK has no other way to say it, and no limit unless it is said.
        System.getProperties().putIfAbsent("sun.net.httpserver.maxReqTime", REQUEST_SECONDS);
        System.getProperties().putIfAbsent("sun.net.httpserver.maxRspTime", ANSWER_SECONDS);
    }

    private final PrometheusMeterRegistry registry;
    private final HttpServer http;
    private final ExecutorService threads =
            Executors.newFixedThreadPool(THREADS, new DefaultThreadFactory("metrics", true));

    /**
     * Listens from now on.
     *
     * @param address with port 0 to have one chosen
     * @param registry not closed with the server
     * @throws IOException if the address cannot be used
     */
    public MetricsServer(InetSocketAddress address, PrometheusMeterRegistry registry)
            throws IOException {
        this.registry = registry;
        try {
            http = HttpServer.create(address, 0);
        } catch (IOException e) {
            throw new IOException(
                    "cannot listen on "
                            + address.getHostString()
                            + ":"
                            + address.getPort()
                            + ": "
                            + e.getMessage(),
                    e);
        }
        http.createContext("/", this::answer);
        http.setExecutor(threads);
        http.start();
    }

    /** Where it listens. */
    public InetSocketAddress address() {
        return http.getAddress();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            if (!exchange.getRequestURI().getPath().equals("/metrics")) {
                send(exchange, NOT_FOUND, "metrics are at /metrics\n");
            } else if (!exchange.getRequestMethod().equals("GET")) {
                send(exchange, NOT_ALLOWED, "only GET\n");
            } else {
                send(exchange, OK, registry.scrape());
            }
        }
    }

    private static void send(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", TEXT);
        // The answer to HEAD has no body, and says so by -1.
        boolean isHead = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(status, isHead ? -1 : bytes.length);
        if (!isHead) {
            exchange.getResponseBody().write(bytes);
        }
    }

    @Override
    public void close() {
        http.stop(0);
        threads.shutdownNow();
    }
}
