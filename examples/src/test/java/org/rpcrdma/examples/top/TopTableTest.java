// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.top;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TopTableTest {

    private static final String BEFORE =
            """
            # HELP rpcrdma_calls_total Calls
            # TYPE rpcrdma_calls_total counter
            rpcrdma_calls_total{role="requester"} 0.0
            rpcrdma_calls_total{role="responder"} 1000.0
            rpcrdma_write_bytes_total{role="responder"} 1.0E7
            rpcrdma_connections 3.0
            rpcrdma_call_duration_seconds_bucket{procedure="NFSv3.READ",role="responder",le="5.0E-5"} 90
            rpcrdma_call_duration_seconds_bucket{procedure="NFSv3.READ",role="responder",le="+Inf"} 100
            rpcrdma_call_duration_seconds_count{procedure="NFSv3.READ",role="responder"} 100
            rpcrdma_call_duration_seconds_sum{procedure="NFSv3.READ",role="responder"} 0.5
            """;

    private static final String AFTER =
            """
            rpcrdma_calls_total{role="requester"} 0.0
            rpcrdma_calls_total{role="responder"} 5000.0
            rpcrdma_write_bytes_total{role="responder"} 3.0E7
            rpcrdma_connections 4.0
            rpcrdma_calls_oldest_seconds{role="requester"} 0.5
            rpcrdma_calls_oldest_seconds{role="responder"} 61.25
            rpcrdma_call_duration_seconds_bucket{procedure="NFSv3.READ",role="responder",le="5.0E-5"} 190
            rpcrdma_call_duration_seconds_bucket{procedure="NFSv3.READ",role="responder",le="2.0E-4"} 299
            rpcrdma_call_duration_seconds_bucket{procedure="NFSv3.READ",role="responder",le="+Inf"} 300
            rpcrdma_call_duration_seconds_count{procedure="NFSv3.READ",role="responder"} 300
            rpcrdma_call_duration_seconds_sum{procedure="NFSv3.READ",role="responder"} 0.52
            rpcrdma_call_duration_seconds_count{procedure="odd \\"one\\", {x}",role="responder"} 2
            rpcrdma_call_duration_seconds_sum{procedure="odd \\"one\\", {x}",role="responder"} 2
            """;

    @Test
    void showsWhatHasHappenedInBetween() throws IOException {
        String table = table(BEFORE, AFTER, 2);
        assertThat(table)
                .startsWith("server:9090   2,000 calls/s, 0 in flight, the oldest for 61.3 s, ")
                .contains("4 connections", "RDMA Write 10.0")
                .containsPattern("(?m)^NFSv3\\.READ +responder +100 +100 +200$")
                .containsPattern("(?m)^odd \"one\", \\{x} +responder +1 +1,000,000 +-$");
        // The one with the most calls comes first.
        assertThat(table.indexOf("NFSv3.READ")).isLessThan(table.indexOf("odd"));
    }

    private static final String STREAMS_BEFORE =
            """
            rdma_channels 3.0
            rdma_streams_opened_total 5.0
            rdma_stream_traffic_bytes_total{direction="in"} 1.0E6
            rdma_stream_traffic_bytes_total{direction="out"} 0.0
            rdma_stream_wait_seconds_total 1.0
            rdma_streams_closed_total{reason="orderly"} 1.0
            rdma_streams_closed_total{reason="reset"} 1.0
            rdma_streams_closed_total{reason="reset_by_peer"} 1.0
            """;

    private static final String STREAMS_AFTER =
            """
            rdma_channels 4.0
            rdma_streams 2.0
            rdma_streams_opened_total 12.0
            rdma_streams_halfclosed{direction="in"} 1.0
            rdma_streams_halfclosed{direction="out"} 0.0
            rdma_streams_waiting 1.0
            rdma_stream_credits 24.0
            rdma_stream_traffic_bytes_total{direction="in"} 5.0E6
            rdma_stream_traffic_bytes_total{direction="out"} 1.0E7
            rdma_stream_wait_seconds_total 2.0
            rdma_streams_closed_total{reason="orderly"} 4.0
            rdma_streams_closed_total{reason="reset"} 3.0
            rdma_streams_closed_total{reason="reset_by_peer"} 4.0
            """;

    /** A program that has no RPC at all. */
    @Test
    void streamsHaveALineOfTheirOwn() throws IOException {
        assertThat(table(STREAMS_BEFORE, STREAMS_AFTER, 2))
                .startsWith("server:9090   4 channels")
                .contains(
                        "2 open, 1 half-closed, 1 waiting for their peer, 24 credits",
                        "in 2.0 MB/s, out 5.0",
                        "waited 0.50 s/s",
                        "reset 2, by peers 3")
                .doesNotContain("calls/s", "procedure", "rpcrdma_");
        assertThat(table(BEFORE, AFTER, 1)).doesNotContain("streams");
        assertThat(table(BEFORE + STREAMS_BEFORE, AFTER + STREAMS_AFTER, 1))
                .contains("calls/s", "2 open", "procedure");
    }

    @Test
    void aServerThatHasStartedAnewIsCountedFromNothing() throws IOException {
        assertThat(table(/* before= */ AFTER, /* after= */ BEFORE, 1))
                .startsWith("server:9090   1,000 calls/s");
    }

    @Test
    void nothingMeansNoCallsAndNoDivision() throws IOException {
        assertThat(table(AFTER, AFTER, 1))
                .containsPattern("(?m)^NFSv3\\.READ +responder +0 +- +-$")
                .doesNotContain("NaN");
    }

    /** Each sample is looked at a few times, however many rows there are. */
    @Test
    void manyRowsAreATableToo() throws IOException {
        int rows = 50_000;
        StringBuilder many = new StringBuilder(BEFORE);
        for (int i = 0; i < rows; i++) {
            many.append(
                    "rpcrdma_call_duration_seconds_count{procedure=\"p"
                            + i
                            + "\",role=\"responder\"} 1\n");
        }
        assertThat(table(BEFORE, many.toString(), 1).lines().filter(line -> line.startsWith("p")))
                .hasSize(rows + 1);
    }

    @Test
    void labelsAreDecodedAndCannotSteerTheTerminal() throws IOException {
        String hostile =
                BEFORE
                        + "rpcrdma_call_duration_seconds_count{procedure=\"a\\n"
                        + "b\\\\c\\\"\033[2J\u009b\",role=\"responder\"} 3\n";
        assertThat(Scrape.parse(hostile).samples("rpcrdma_call_duration_seconds_count").get(1))
                .extracting(sample -> sample.label("procedure"))
                .isEqualTo("a\nb\\c\"\033[2J\u009b");
        assertThat(table(hostile, hostile, 1))
                .containsPattern("(?m)^a\\?b\\\\c\"\\?\\[2J\\? +responder +0 +- +-$")
                .doesNotContain("\033", "\u009b");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "<html>not metrics</html>",
                "up 1",
                "rpcrdma_calls_total",
                "rpcrdma_calls_total x",
                "rpcrdma_calls_total{role=\"responder",
                "rpcrdma_calls_total{role=\"responder\"",
                "rpcrdma_calls_total{role=\"\\",
                "rpcrdma_calls_total{role} 1",
                "{} 1",
                "rpcrdma_calls_total 1\nrpcrdma_call_duration_seconds_bucket{le=\"x\"} 1",
            })
    void anythingElseIsOneClearSentence(String text) {
        assertThatThrownBy(() -> Scrape.parse(text))
                .isInstanceOf(IOException.class)
                .message()
                .isNotEmpty()
                .hasLineCount(1);
    }

    private static String table(String before, String after, double seconds) throws IOException {
        StringWriter out = new StringWriter();
        new TopTable(Scrape.parse(before), Scrape.parse(after), seconds)
                .print(new PrintWriter(out), "server:9090");
        return out.toString();
    }
}
