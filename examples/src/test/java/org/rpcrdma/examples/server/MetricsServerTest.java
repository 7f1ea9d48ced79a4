// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.micrometer.core.instrument.Tags;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.metrics.RpcRdmaMeterBinder;
import org.rpcrdma.examples.NfsFixture;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.export.Export;

class MetricsServerTest {

    private static final InetSocketAddress ANY =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private static final Path DOCUMENTS =
            Path.of(System.getProperty("basedir")).resolveSibling("docs").resolve("monitoring");

    /** A series by name, with what it is asked for by label. */
    private static final Pattern SELECTOR = Pattern.compile("\\b((?:rpc)?rdma_\\w+)(\\{[^}]*\\})?");

    private static final Pattern TYPE_IN_NAME =
            Pattern.compile(".*_(counter|gauge|histogram|summary|info|count|sum|bucket)(_.*)?");

    private static final Pattern UNIT_WITHIN =
            Pattern.compile(
                    ".*_(bytes|seconds|ratio)_.+|.*_(milli|micro|nano)?(secs|ms|us|ns)(_.*)?");

    private static final Pattern MATCHER = Pattern.compile("(\\w+)=\"([^\"]*)\"");

    private final PrometheusMeterRegistry meters =
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    @TempDir private Path directory;

    @Test
    void whatDashboardAndAlertsAskForIsInAScrape() throws Exception {
        String scrape = scrapeAfterSomeCalls();
        for (String file : List.of("grafana.json", "alerts.yml")) {
            String queries = Files.readString(DOCUMENTS.resolve(file));
            int selectors = 0;
            for (String query : queries(queries)) {
                Matcher selector = SELECTOR.matcher(query);
                while (selector.find()) {
                    selectors++;
                    assertThat(isIn(scrape, selector.group(1), selector.group(2)))
                            .as(
                                    "%s asks for %s, which is not in%n%s",
                                    file, selector.group(), scrape)
                            .isTrue();
                }
            }
            assertThat(selectors).as(file).isGreaterThan(10);
        }
    }

    @Test
    void everySeriesSaysWhatItIs() throws Exception {
        String scrape = scrapeAfterSomeCalls();
        scrape.lines()
                .filter(line -> line.startsWith("# TYPE "))
                .map(line -> line.split(" ", -1)[2])
                .forEach(
                        name ->
                                assertThat(scrape)
                                        .containsPattern("(?m)^# HELP " + name + " {1,2}\\S"));
    }

    /** The rules of Prometheus for names: units at the end, once and in base units, and no types in names. */
    @Test
    void namesFollowTheRulesOfPrometheus() throws Exception {
        String scrape = scrapeAfterSomeCalls();
        Map<String, String> types = new TreeMap<>();
        scrape.lines()
                .filter(line -> line.startsWith("# TYPE "))
                .map(line -> line.split(" ", -1))
                .forEach(words -> types.put(words[2], words[3]));
        assertThat(types).hasSizeGreaterThan(50);
        types.forEach(
                (name, type) -> {
                    assertThat(name).matches("[a-z]+(_[a-z]+)*").doesNotMatch(TYPE_IN_NAME);
                    assertThat(name.endsWith("_total")).as(name).isEqualTo(type.equals("counter"));
                    // The greatest value of a timer is a gauge of Micrometer's.
                    String base = name.replaceFirst("(_total|(?<=_seconds)_max)$", "");
                    assertThat(base).as("the unit comes last").doesNotMatch(UNIT_WITHIN);
                    String[] words = base.split("_", -1);
                    assertThat(words).as("no word stands twice").doesNotHaveDuplicates();
                });
    }

    /** Timers of one name, some of them histograms, would fail each scrape with all that the application measures. */
    @Test
    void aSecondBinderWithOtherBucketsIsRefusedAndScrapesGoOn() throws Exception {
        String before = scrapeAfterSomeCalls();
        RpcRdmaMeterBinder plain = new RpcRdmaMeterBinder(new RpcRdmaMetrics());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plain.bindTo(meters))
                .withMessageContaining("give all binders of one registry the same");
        assertThat(meters.scrape().lines().filter(line -> line.startsWith("# TYPE ")))
                .hasSameElementsAs(
                        before.lines().filter(line -> line.startsWith("# TYPE ")).toList());
    }

    @Test
    void onlyMetricsAreServed() throws Exception {
        try (MetricsServer server = new MetricsServer(ANY, meters)) {
            assertThat(get(server, "/").statusCode()).isEqualTo(404);
            assertThat(get(server, "/metrics").statusCode()).isEqualTo(200);
            HttpRequest post =
                    request(server, "/metrics").POST(HttpRequest.BodyPublishers.noBody()).build();
            assertThat(
                            HttpClient.newHttpClient()
                                    .send(post, HttpResponse.BodyHandlers.ofString())
                                    .statusCode())
                    .isEqualTo(405);
        }
    }

    /** What asks whether the server is there does so again and again. */
    @Test
    void theAnswerToHeadHasNoBodyAndNoWordInTheLog() throws Exception {
        List<LogRecord> log = new CopyOnWriteArrayList<>();
        Handler handler =
                new Handler() {
                    @Override
                    public void publish(LogRecord line) {
                        log.add(line);
                    }

                    @Override
                    public void flush() {}

                    @Override
                    public void close() {}
                };
        Logger ofTheJdk = Logger.getLogger("com.sun.net.httpserver");
        ofTheJdk.addHandler(handler);
        try (MetricsServer server = new MetricsServer(ANY, meters)) {
            assertThat(head(server)).contains("405").doesNotContain("only GET");
        } finally {
            ofTheJdk.removeHandler(handler);
        }
        assertThat(log).isEmpty();
    }

    @Test
    void aClientThatSendsHalfARequestHoldsUpNobody() throws Exception {
        try (MetricsServer server = new MetricsServer(ANY, meters);
                Socket half = new Socket(ANY.getAddress(), server.address().getPort())) {
            half.getOutputStream().write("GET /metr".getBytes(StandardCharsets.US_ASCII));
            assertThat(get(server, "/metrics").statusCode()).isEqualTo(200);
            // It is not waited for for ever.
            assertThat(half.getInputStream().read()).isNegative();
        }
    }

    private String scrapeAfterSomeCalls() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        Path exported = Files.createDirectory(directory.resolve("export"));
        try (Export export = new Export(exported, true, directory.resolve("key"));
                NfsServer nfs = new NfsServer(export);
                MetricsServer server = new MetricsServer(ANY, meters)) {
            nfs.bindTo(meters, Duration.ofMillis(1));
            InetSocketAddress rdma = nfs.serveNfsOverRdma(ANY, config);
            InetSocketAddress mount = nfs.serveMountOverTcp(ANY);
            try (NfsSession session = NfsSession.open(rdma, config, mount, NfsFixture.ROOT)) {
                RpcRdmaMetrics client = session.nfs().connection().metrics();
                new RpcRdmaMeterBinder(client, Tags.empty(), Duration.ofMillis(1)).bindTo(meters);
                session.nfs().limits(session.find("/").handle());
                HttpResponse<String> response = get(server, "/metrics");
                assertThat(response.statusCode()).isEqualTo(200);
                assertThat(response.headers().firstValue("Content-Type").orElse(""))
                        .startsWith("text/plain; version=0.0.4");
                assertThat(response.body())
                        .contains("role=\"responder\"")
                        .contains("procedure=\"NFSv3.FSINFO\"");
                return response.body();
            }
        }
    }

    private static String head(MetricsServer server) throws IOException {
        try (Socket socket = new Socket(ANY.getAddress(), server.address().getPort())) {
            String request = "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        }
    }

    private static HttpResponse<String> get(MetricsServer server, String path)
            throws IOException, InterruptedException {
        return HttpClient.newHttpClient()
                .send(request(server, path).build(), HttpResponse.BodyHandlers.ofString());
    }

    private static HttpRequest.Builder request(MetricsServer server, String path) {
        return HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + server.address().getPort() + path));
    }

    /** The expressions of a dashboard, or of rules; nothing else in them names a series. */
    private static List<String> queries(String text) {
        List<String> queries = new ArrayList<>();
        Matcher found =
                Pattern.compile(
                                "\"expr\": \"((?:[^\"\\\\]|\\\\.)*)\"|expr: (?!>)(.*)|expr: >-\\n"
                                        + "((?: {10}\\S.*\\n"
                                        + ")*)")
                        .matcher(text);
        while (found.find()) {
            for (int i = 1; i <= found.groupCount(); i++) {
                if (found.group(i) != null) {
                    queries.add(found.group(i).replace("\\\"", "\""));
                }
            }
        }
        return queries;
    }

    private static boolean isIn(String scrape, String name, String labels) {
        Matcher matcher = MATCHER.matcher(labels == null ? "" : labels);
        List<String> wanted = new ArrayList<>();
        while (matcher.find()) {
            wanted.add(matcher.group());
        }
        return scrape.lines()
                .filter(line -> line.startsWith(name + "{") || line.startsWith(name + " "))
                .anyMatch(line -> wanted.stream().allMatch(line::contains));
    }
}
