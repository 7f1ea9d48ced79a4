// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.server.MetricsServer;
import org.rpcrdma.examples.server.NfsServer;
import picocli.CommandLine;

class TopCommandTest {

    private static final InetSocketAddress ANY =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir private Path exported;
    @TempDir private Path local;

    @Test
    void everyMeterIsFoundInARunningServer() throws Exception {
        PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        try (Export export = new Export(exported, true, local.resolve("key"));
                NfsServer nfs = new NfsServer(export);
                MetricsServer server = new MetricsServer(ANY, meters)) {
            nfs.bindTo(meters, Duration.ofMillis(1));
            InetSocketAddress rdma = nfs.serveNfsOverRdma(ANY, RpcRdmaConfig.defaults());
            InetSocketAddress mount = nfs.serveMountOverTcp(ANY);
            try (NfsSession session =
                    NfsSession.open(rdma, RpcRdmaConfig.defaults(), mount, NfsFixture.ROOT)) {
                session.nfs().limits(session.find("/").handle());
                String address = "127.0.0.1:" + server.address().getPort();
                assertThat(run("top", address, address, "-i", "1", "-c", "1")).isZero();
            }
        }
        assertThat(err.toString()).isEmpty();
        assertThat(out.toString())
                .containsPattern("(?m)^NFSv3\\.FSINFO +responder +0 +- +-$")
                .contains(" 1 connections")
                .doesNotContain("no such calls yet");
        assertThat(out.toString().lines().filter(line -> line.startsWith("127.0.0.1:"))).hasSize(2);
    }

    @Test
    void anAnswerThatHasNoMetersIsAFailure() throws Exception {
        HttpServer http = TestHttp.create();
        http.createContext(
                "/",
                exchange -> {
                    exchange.sendResponseHeaders(403, -1);
                    exchange.close();
                });
        http.start();
        try {
            assertThat(run("top", "127.0.0.1:" + http.getAddress().getPort())).isEqualTo(1);
        } finally {
            http.stop(0);
        }
        assertThat(err.toString()).startsWith("rpcrdma top: http://127.0.0.1:").contains("403");
        assertThat(err.toString().lines()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"SSH-2.0-OpenSSH_9.2\r\n", ""})
    void aPortThatSpeaksNoHttpIsNamedAsSuch(String greeting) throws Exception {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            new Thread(() -> greetAll(other, greeting), "no-http").start();
            String address = "127.0.0.1:" + other.getLocalPort();
            assertThat(run("top", address)).isEqualTo(1);
            assertThat(err.toString())
                    .startsWith(
                            "rpcrdma top: http://"
                                    + address
                                    + "/metrics: what listens there does not answer in HTTP (")
                    .endsWithIgnoringCase(
                            "): give the port that the server has as its --metrics-port"
                                    + System.lineSeparator());
            assertThat(err.toString().lines()).hasSize(1);
        }
    }

    /** The JDK's client asks again, on another connection, where it was answered by nothing. */
    private static void greetAll(ServerSocket listener, String greeting) {
        try {
            while (true) {
                greet(listener, greeting);
            }
        } catch (IOException e) {
            assertThat(listener.isClosed()).isTrue();
        }
    }

    private static void greet(ServerSocket listener, String greeting) throws IOException {
        try (Socket socket = listener.accept()) {
            // What is closed with a part of the question unread is reset, and the greeting is lost.
            InputStream question = socket.getInputStream();
            for (int ends = 0; ends < 2; ) {
                int next = question.read();
                assertThat(next).isNotNegative();
                ends = next == '\n' ? ends + 1 : next == '\r' ? ends : 0;
            }
            socket.getOutputStream().write(greeting.getBytes(StandardCharsets.US_ASCII));
        }
    }

    @Test
    void oneThatDoesNotAnswerIsShownBesideTheOthers() throws Exception {
        HttpServer http = TestHttp.create();
        http.createContext("/", exchange -> answer(exchange, 200, "rpcrdma_calls_total 0"));
        HttpServer failing = TestHttp.create();
        failing.createContext("/", exchange -> answer(exchange, 503, "later"));
        http.start();
        failing.start();
        try {
            String good = "127.0.0.1:" + http.getAddress().getPort();
            String bad = "127.0.0.1:" + failing.getAddress().getPort();
            assertThat(run("top", bad, good, "-i", "1", "-c", "1")).isZero();
            assertThat(out.toString())
                    .contains(bad + "   not reachable: status 503", good + "   0 calls/s");
            assertThat(err.toString()).isEmpty();
        } finally {
            http.stop(0);
            failing.stop(0);
        }
    }

    @Test
    void fewerThanNoTablesAreRefused() {
        assertThat(run("top", "127.0.0.1:1", "-c", "-1")).isEqualTo(2);
        assertThat(err.toString()).contains("--count -1 (expected: 0 or more)");
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.US_ASCII);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private int run(String... args) {
        CommandLine main = Main.commandLine();
        main.setOut(new PrintWriter(out, true));
        main.setErr(new PrintWriter(err, true));
        return main.execute(args);
    }
}
