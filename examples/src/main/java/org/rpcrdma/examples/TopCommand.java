// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.rpcrdma.examples.top.Scrape;
import org.rpcrdma.examples.top.TopTable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows again and again what servers are doing. */
@Command(
        name = "top",
        description =
                "Shows what running servers do, from the meters that serve-nfs --metrics-port and"
                        + " others have at http://HOST:PORT/metrics.",
        mixinStandardHelpOptions = true)
final class TopCommand implements Callable<Integer> {

    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** More than any server of ours answers. */
    private static final int MOST_BYTES = 8 << 20;

    private static final int OK = 200;
    private static final String CLEAR = "\033[H\033[2J";

    @Spec private picocli.CommandLine.Model.CommandSpec spec;

    @Parameters(
            arity = "1..*",
            paramLabel = "HOST:PORT",
            converter = ServerAddress.class,
            description = "Where the meters of each server are.")
    private List<InetSocketAddress> servers;

    @Option(
            names = {"-i", "--interval"},
            defaultValue = "2",
            paramLabel = "SECONDS",
            description = "Seconds between two looks (default: ${DEFAULT-VALUE}).")
    private int interval;

    @Option(
            names = {"-c", "--count"},
            defaultValue = "0",
            paramLabel = "COUNT",
            description = "How many tables; 0, the default, goes on until it is interrupted.")
    private int count;

    private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();

    @Override
    public Integer call() throws IOException, InterruptedException {
        Check.atLeastOne(spec, "--interval", interval);
        PrintWriter out = spec.commandLine().getOut();
        // A terminal shows one table in the place of the last; what is written to a file keeps all.
        boolean clears = count != 1 && Progress.isTerminal();
        List<Scrape> before = scrapes();
        long then = System.nanoTime();
        for (int shown = 0; count == 0 || shown < count; shown++) {
            Thread.sleep(Duration.ofSeconds(interval).toMillis());
            List<Scrape> after = scrapes();
            long now = System.nanoTime();
            if (clears) {
                out.print(CLEAR);
            }
            for (int i = 0; i < servers.size(); i++) {
                String name = servers.get(i).getHostString() + ":" + servers.get(i).getPort();
                new TopTable(before.get(i), after.get(i), (now - then) / 1e9).print(out, name);
                out.println();
            }
            out.flush();
            before = after;
            then = now;
        }
        return 0;
    }

    private List<Scrape> scrapes() throws IOException, InterruptedException {
        List<Scrape> scrapes = new ArrayList<>();
        for (InetSocketAddress server : servers) {
            scrapes.add(Scrape.parse(get(server)));
        }
        return scrapes;
    }

    private String get(InetSocketAddress server) throws IOException, InterruptedException {
        URI uri;
        try {
            uri =
                    new URI(
                            "http",
                            null,
                            server.getHostString(),
                            server.getPort(),
                            "/metrics",
                            null,
                            null);
        } catch (URISyntaxException e) {
            throw new IOException(e.getMessage(), e);
        }
        HttpRequest request = HttpRequest.newBuilder(uri).timeout(TIMEOUT).build();
        HttpResponse<InputStream> response;
        try {
            response = http.send(request, HttpResponse.BodyHandlers.ofInputStream());
        } catch (IOException e) {
            String why = e.getMessage() == null ? "no connection" : e.getMessage();
            throw new IOException(uri + ": " + why, e);
        }
        try (InputStream body = response.body()) {
            byte[] text = body.readNBytes(MOST_BYTES);
            if (response.statusCode() != OK) {
                throw new IOException(uri + ": status " + response.statusCode());
            }
            return new String(text, StandardCharsets.UTF_8);
        }
    }
}
