// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.Gson;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.DoubleStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whether all work is done on what is compared, and what is found arrives; never how fast. */
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "processes are stopped by signals")
class CompareTest {

    private static final int ROUNDS = 1;

    /** For the JVMs that are started: they are over before the optimizing compiler pays. */
    private static final String FIRST_COMPILER = "-XX:TieredStopAtLevel=1";

    @TempDir Path directory;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void eachTransportAnswersInEachRound(boolean inOneProcess) throws Exception {
        Path json = directory.resolve("deeper/comparison.json");
        int status =
                Compare.commandLine()
                        .execute(
                                "--transports=RDMA,NIO",
                                "--baseline=NIO",
                                "--work=NULL, 1 out|READ 4 KiB, 16 out$|WRITE 64 KiB, 1 out",
                                "--rounds=" + ROUNDS,
                                "--millis=20",
                                "--warm-up=5",
                                "--tries=1",
                                "--load=50",
                                "--loaded=RDMA,NIO",
                                "--jvm=" + FIRST_COMPILER,
                                "--json=" + json,
                                "--one-process=" + inOneProcess);
        assertThat(status).isZero();
        Comparison found = new Gson().fromJson(Files.readString(json), Comparison.class);
        assertThat(found.transports()).containsExactly("RDMA", "NIO");
        assertThat(found.works())
                .hasSize(4)
                .filteredOn(work -> work.load() == 50)
                .singleElement()
                .satisfies(work -> assertThat(work.rate()).isPositive());
        assertThat(found.rows())
                .hasSize(8)
                .allSatisfy(
                        row ->
                                assertThat(row.windows())
                                        .hasSize(ROUNDS)
                                        .allSatisfy(CompareTest::isWhole));
        assertThat(Report.text(found)).contains("### READ 4 KiB, 16 out").contains("| NIO |");
    }

    @Test
    void newProcessesAnswerAloneAndBesideBusyOnes(@TempDir Path directory) throws Exception {
        ColdComparison cold =
                new ColdComparison(List.of("RDMA"), 1, 20, 1, List.of(FIRST_COMPILER)).run();
        String text = cold.text();
        for (String condition :
                List.of("1 out", "16 out", "1 out, beside busy processes", "16 out, beside")) {
            assertThat(text).contains("### NULL, " + condition);
        }
        assertThat(text.lines().filter(line -> line.startsWith("| RDMA |")))
                .hasSize(4)
                .allMatch(line -> line.matches("\\| RDMA \\|( [0-9]+ \\|){4}"));
        Path chart = directory.resolve("charts/warm-up.png");
        WarmUpChart.write(cold.found(), chart);
        assertThat(ImageIO.read(chart.toFile()).getWidth()).isPositive();
    }

    /** Whoever is compared, at each of what it does. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "HADOOP",
                "ONCRPC4J",
                "FLOOR_SOCKET",
                "FLOOR_RING",
                "FLOOR_COPY",
                "FLOOR_WRITE",
                "STREAM",
                "EPOLL"
            })
    void eachContenderDoesItsWork(String name) throws Exception {
        Contender contender = Contender.named(name);
        assumeTrue(contender.isAvailable(), "this is not Linux");
        assumeTrue(
                Runtime.getRuntime().availableProcessors() > 1 || !contender.isBusy(),
                "there is one CPU");
        Path json = directory.resolve("comparison.json");
        int status =
                Compare.commandLine()
                        .execute(
                                "--transports=" + name,
                                "--work=(NULL|READ|bytes|HTTP|gRPC).*, (1|16) out$",
                                "--smoke",
                                "--load=0",
                                "--one-process",
                                "--jvm=" + FIRST_COMPILER,
                                "--json=" + json);
        assertThat(status).isZero();
        Comparison found = Comparison.read(json);
        assertThat(found.works()).isNotEmpty().allMatch(contender::does);
        assertThat(found.works().stream().map(Work::application).distinct())
                .containsExactlyElementsOf(contender.applications());
        assertThat(found.rows())
                .allSatisfy(row -> assertThat(row.windows().get(0).calls()).isPositive());
    }

    private static void isWhole(Window window) {
        assertThat(window.calls()).isPositive();
        assertThat(window.median()).isPositive().isLessThanOrEqualTo(window.maximum());
        assertThat(window.client().cpuNanos()).isNotNegative(); // it counts in steps of 10 ms
    }

    @Test
    void aMistakeGetsOneSentence() {
        StringWriter said = new StringWriter();
        int status =
                Compare.commandLine()
                        .setErr(new PrintWriter(said, true))
                        .execute("--work=no such work");
        assertThat(status).isEqualTo(1);
        assertThat(said.toString())
                .startsWith(
                        "compare: --work: nothing has a match for 'no such work' (there are: NULL,"
                                + " 1 out;")
                .hasLineCount(1);
    }

    @Test
    void whatDoesNotExistIsNamed() {
        StringWriter said = new StringWriter();
        int status =
                Compare.commandLine()
                        .setErr(new PrintWriter(said, true))
                        .execute("--transports=PIGEONS", "--work=NULL, 1 out$");
        assertThat(status).isEqualTo(1);
        assertThat(said.toString())
                .startsWith("compare: --transports: there is no PIGEONS (expected some of: RDMA,")
                .hasLineCount(1);
    }

    @Test
    void codeIsWarmWhileTheCompilersOfBothProcessesRest() {
        assertThat(Cost.now().compilerNanos() > 0).isEqualTo(OS.LINUX.isCurrentOs());
        assertThat(compiledFor(25, 25).isCompiled()).isTrue();
        assertThat(compiledFor(26, 0).isCompiled()).isFalse();
        assertThat(compiledFor(0, 26).isCompiled()).isFalse();
    }

    /** A window of 300 ms. */
    private static Window compiledFor(long clientMillis, long serverMillis) {
        return new Window(
                1, 300_000_000, 0, 0, 0, 0, 0, compiled(clientMillis), compiled(serverMillis));
    }

    @Test
    void firstTouchesOfMemoryArePageFaults() {
        assumeTrue(Files.exists(Path.of("/proc/self/stat")), "the system does not tell it");
        Cost before = Cost.now();
        // Cleared, so touched. With pages of 2 MiB there are fewer.
        ByteBuffer memory = ByteBuffer.allocateDirect(64 << 20);
        assertThat(Cost.now().since(before).pageFaults()).isGreaterThanOrEqualTo(16);
        assertThat(memory.get(0)).isZero();
    }

    private static Cost compiled(long millis) {
        return new Cost(0, 0, 0, 0, millis * 1_000_000, 0);
    }

    @Test
    void anIntervalOfALoadIsThatOfAllConnections() {
        Work work = Work.on(4, Work.Procedure.READ, 4096, 16).at(50, 1000);
        assertThat(work.rate()).isEqualTo(500);
        assertThat(work.label()).isEqualTo("READ 4 KiB, 50 % load");
    }

    @Test
    void ratiosAreTakenRoundByRound() {
        assertThat(Spread.of(DoubleStream.of(3, 1, 2)))
                .isEqualTo(new Spread(1, 2, 3))
                .hasToString("2.00 (1.00 to 3.00)");
        assertThat(Spread.of(DoubleStream.of(1, 2, 4, 8)).median()).isCloseTo(3, within(1e-9));
        assertThat(Spread.of(DoubleStream.empty()).median()).isNaN();
    }
}
