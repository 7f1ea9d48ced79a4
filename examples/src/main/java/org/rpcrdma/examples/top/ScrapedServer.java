// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.top;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rpcrdma.examples.common.Printable;

/** A server and its last two scrapes. Of one thread. */
public final class ScrapedServer {

    /** More than any server of ours answers. */
    static final int MOST_BYTES = 2 << 20;

    private static final int OK = 200;

    private final HttpClient http;
    private final HttpRequest request;
    private final String name;
    private final Duration timeout;

    private CompletableFuture<HttpResponse<String>> response;

    /** Whether the last question has got a status and headers, whatever came of the body. */
    private AtomicBoolean spokeHttp;

    private long askedAt;

    /** The last two that there were, with times of {@link System#nanoTime()}; null until there is one. */
    private Scrape before;

    private Scrape after;
    private long beforeAt;
    private long afterAt;

    /** Why there is no answer to the last question, or null. */
    private String trouble;

    /**
     * Asks nothing yet.
     *
     * @param timeout for a whole answer, from the connection to the last byte
     * @throws IOException when the address makes no URI
     */
    public ScrapedServer(HttpClient http, InetSocketAddress address, Duration timeout)
            throws IOException {
        this.http = http;
        this.timeout = timeout;
        String host = address.getHostString();
        name = host + ":" + address.getPort();
        try {
            URI uri = new URI("http", null, host, address.getPort(), "/metrics", null, null);
            request = HttpRequest.newBuilder(uri).build();
        } catch (URISyntaxException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    /** Asks for its meters. {@link #await()} has to follow. */
    public void ask() {
        askedAt = System.nanoTime();
        AtomicBoolean spoke = new AtomicBoolean();
        spokeHttp = spoke;
        response =
                http.sendAsync(
                        request,
                        info -> {
                            spoke.set(true);
                            return new LimitedBody(MOST_BYTES);
                        });
    }

    /**
     * Waits for the answer, until the time is over.
     *
     * @return whether there is one, with meters in it
     */
    public boolean await() throws InterruptedException {
        try {
            // A timeout of the request itself would end with the headers.
            long left = askedAt + timeout.toNanos() - System.nanoTime();
            keep(response.get(Math.max(0, left), TimeUnit.NANOSECONDS));
            trouble = null;
        } catch (TimeoutException e) {
            trouble = "no whole answer within " + timeout.toMillis() + " ms";
        } catch (ExecutionException e) {
            trouble = failure(e.getCause());
        } catch (IOException e) {
            trouble = reason(e);
        } finally {
            response.cancel(true);
        }
        return trouble == null;
    }

    private void keep(HttpResponse<String> answer) throws IOException {
        if (answer.statusCode() != OK) {
            throw new IOException("status " + answer.statusCode());
        }
        Scrape scrape = Scrape.parse(answer.body());
        before = after;
        beforeAt = afterAt;
        after = scrape;
        afterAt = askedAt;
    }

    /** The JDK's own words for an answer that is no HTTP say neither what is wrong nor what to do. */
    private String failure(Throwable cause) {
        boolean connected =
                !(cause instanceof ConnectException || cause instanceof HttpTimeoutException);
        return connected && !spokeHttp.get()
                ? "what listens there does not answer in HTTP ("
                        + reason(cause)
                        + "): give the port that the server has as its --metrics-port"
                : reason(cause);
    }

    private static String reason(Throwable cause) {
        return cause.getMessage() == null ? "no connection" : Printable.of(cause.getMessage());
    }

    /** What went wrong with the last question, in one sentence that names the server. */
    public String trouble() {
        return request.uri() + ": " + trouble;
    }

    /** Prints what has happened between the last two answers, or why there is none to the last question. */
    public void print(PrintWriter out) {
        if (trouble != null) {
            out.println(name + "   not reachable: " + trouble);
        } else if (before == null) {
            out.println(name + "   has answered for the first time");
        } else {
            new TopTable(before, after, (afterAt - beforeAt) / 1e9).print(out, name);
        }
    }
}
