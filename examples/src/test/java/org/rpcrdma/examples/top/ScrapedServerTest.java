// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.top;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.examples.TestHttp;

class ScrapedServerTest {

    private static final byte[] METERS =
            "rpcrdma_calls_total 7\n".getBytes(StandardCharsets.US_ASCII);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch over = new CountDownLatch(1);
    private final HttpClient client = HttpClient.newHttpClient();

    private HttpServer http;

    /** What is answered next. */
    private volatile int status = 200;

    private volatile byte[] body = METERS;
    private volatile boolean stalls;

    @BeforeEach
    void start() throws IOException {
        http = TestHttp.create();
        http.setExecutor(threads);
        http.createContext(
                "/metrics",
                exchange -> {
                    exchange.sendResponseHeaders(status, body.length);
                    try (OutputStream out = exchange.getResponseBody()) {
                        out.flush();
                        if (stalls) {
                            over.await();
                        }
                        out.write(body);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                });
        http.start();
    }

    @AfterEach
    void stop() {
        over.countDown();
        http.stop(0);
        threads.shutdownNow();
    }

    @Test
    void oneThatGoesAndComesBackIsShownAgain() throws Exception {
        ScrapedServer server = server(Duration.ofMinutes(1));
        assertThat(answers(server)).isTrue();
        assertThat(printed(server)).contains("has answered for the first time");
        status = 503;
        assertThat(answers(server)).isFalse();
        assertThat(printed(server)).contains("not reachable: status 503").hasLineCount(1);
        status = 200;
        assertThat(answers(server)).isTrue();
        assertThat(printed(server)).contains("   0 calls/s");
    }

    @Test
    void headersAloneAreNoAnswer() throws Exception {
        stalls = true;
        ScrapedServer server = server(Duration.ofMillis(300));
        assertThat(answers(server)).isFalse();
        assertThat(printed(server)).contains("not reachable: no whole answer within 300 ms");
    }

    @Test
    void anAnswerThatIsTooLongIsRefused() throws Exception {
        body = new byte[ScrapedServer.MOST_BYTES + 1];
        ScrapedServer server = server(Duration.ofMinutes(1));
        assertThat(answers(server)).isFalse();
        assertThat(server.trouble())
                .startsWith("http://")
                .endsWith("/metrics: the answer has more than 2097152 bytes");
    }

    @Test
    void oneThatIsNotThereSaysSo() throws Exception {
        ScrapedServer server = server(Duration.ofMinutes(1));
        http.stop(0);
        assertThat(answers(server)).isFalse();
        assertThat(printed(server)).contains("not reachable: ").hasLineCount(1);
    }

    private ScrapedServer server(Duration timeout) throws IOException {
        return new ScrapedServer(client, http.getAddress(), timeout);
    }

    private static boolean answers(ScrapedServer server) throws InterruptedException {
        server.ask();
        return server.await();
    }

    private static String printed(ScrapedServer server) {
        StringWriter out = new StringWriter();
        PrintWriter printer = new PrintWriter(out);
        server.print(printer);
        printer.flush();
        return out.toString();
    }
}
