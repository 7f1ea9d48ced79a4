// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.rpcrdma.examples.top.ScrapedServer;
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

    @Override
    public Integer call() throws IOException, InterruptedException {
        Check.atLeast(spec, "--interval", interval, 1);
        Check.atLeast(spec, "--count", count, 0);
        PrintWriter out = spec.commandLine().getOut();
        // A terminal shows one table in the place of the last; what is written to a file keeps all.
        boolean clears = count != 1 && Progress.isTerminal();
        HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
        List<ScrapedServer> scraped = new ArrayList<>();
        for (InetSocketAddress server : servers) {
            scraped.add(new ScrapedServer(http, server, TIMEOUT));
        }
        if (!scrape(scraped)) {
            throw new IOException(
                    scraped.stream().map(ScrapedServer::trouble).collect(Collectors.joining("; ")));
        }
        for (int shown = 0; count == 0 || shown < count; shown++) {
            Thread.sleep(Duration.ofSeconds(interval).toMillis());
            scrape(scraped);
            if (clears) {
                out.print(CLEAR);
            }
            for (ScrapedServer server : scraped) {
                server.print(out);
                out.println();
            }
            out.flush();
        }
        return 0;
    }

    /** All at once, so that one that does not answer delays none but itself. */
    private static boolean scrape(List<ScrapedServer> servers) throws InterruptedException {
        servers.forEach(ScrapedServer::ask);
        boolean anyAnswered = false;
        for (ScrapedServer server : servers) {
            anyAnswered |= server.await();
        }
        return anyAnswered;
    }
}
