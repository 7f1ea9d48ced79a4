// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.examples.common.ReliableReplies;
import picocli.CommandLine;

class CommandLineTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir private Path directory;
    @TempDir private Path local;

    @Test
    void devicesSaysWhatIsTakenAndWhyNothingBetterIs() {
        assertThat(run("devices")).isZero();
        assertThat(out.toString())
                .containsPattern("ffm: no, .+")
                .containsPattern("disni: no, .+")
                .contains("iwarp: taken")
                .contains("the software RNIC")
                .contains("can: private data on accept");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void aCommandIsAloneAndHelpKnowsThemAll() {
        assertThat(Main.commandLine("ping", "x:1").getSubcommands()).containsOnlyKeys("ping");
        assertThat(Main.commandLine("nonsense").getSubcommands()).containsKeys("ping", "nfs");
        assertThat(run("help", "ping")).isZero();
        assertThat(out.toString()).contains("rpcrdma ping").contains("--count");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nonsense",
                "ping",
                "ping localhost",
                "ping localhost:0",
                "ping localhost:99999",
                "ping localhost:x",
                "ping localhost:20049 -c 0",
                "ping localhost:20049 --timeout 0",
                "ping localhost:20049 --connect-timeout 0",
                "nfs ls nfs://localhost/ --connect-timeout 3601",
                "demo --connect-timeout 0",
                "ping localhost:20049 --program -1",
                "ping localhost:20049 --version 4294967296",
                "nfs",
                "ping localhost:20049 --highest-version 3",
                "serve-nfs",
                "serve-nfs --export /tmp --port 70000",
                "serve-nfs --export /tmp --port 5 --mount-port 5",
                "nfs get nfs://localhost/x",
                "nfs ls http://localhost/x",
                "nfs ls nfs://localhost",
                "nfs ls nfs://localhost/ --mount-port -1",
                "demo --size 0",
                "demo --size x",
                "leases --clients 0",
                "leases --rounds x",
                "ping 127.0.0.1:1 --pcap-size 1M",
                "ping 127.0.0.1:1 --pcap /nonexistent/file --pcap-size 1000",
                "ping 127.0.0.1:1 --pcap /nonexistent/file --pcap-files 0",
                "ping 127.0.0.1:1 --pcap /nonexistent/file --pcap-snap x",
                "top",
                "top localhost",
                "top localhost:9090 --interval 0",
            })
    void wrongUsageIsOneLineAndExitCode2(String line) {
        assertThat(run(line.split(" "))).isEqualTo(2);
        assertOneLine();
        Matcher hint = Pattern.compile("\\(see: rpcrdma (.*)\\)\n").matcher(err.toString());
        assertThat(hint.find()).isTrue();
        assertThat(run(hint.group(1).split(" "))).isZero();
        assertThat(out.toString()).contains("Usage: rpcrdma");
    }

    /** The port of another service is no port where nobody listens. */
    @Test
    void whatIsAcceptedAndLeftIsNotCalledRefused() throws Exception {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread service =
                    new Thread(
                            () -> {
                                try {
                                    other.accept().close();
                                } catch (IOException e) {
                                    // The test is over.
                                }
                            });
            service.start();
            assertThat(run("ping", "127.0.0.1:" + other.getLocalPort())).isEqualTo(1);
            service.join();
        }
        assertOneLine();
        assertThat(err.toString())
                .contains("check that an iWARP service listens there")
                .doesNotContain("refused");
    }

    @Test
    void whoNamesNoCommandHearsWhichThereAre() {
        assertThat(run()).isEqualTo(2);
        assertThat(err.toString()).contains("a command is missing: demo, ping,");
        assertThat(run("pong")).isEqualTo(2);
        assertThat(err.toString()).contains("there is no command pong, but demo, ping,");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "serve-nfs --export /nonexistent",
                "serve-nfs --export /etc/passwd",
                "ping 127.0.0.1:1",
                "ping no-such-host.invalid:1",
                "nfs ls nfs://127.0.0.1:1/ --mount-port 1",
                "top 127.0.0.1:1",
                "nfs put /nonexistent nfs://127.0.0.1:1/",
                "nfs put / nfs://127.0.0.1:1/",
                "demo --file /nonexistent",
                "demo --file /",
                "demo --file /etc/passwd --size 999999999",
            })
    void failuresAreOneLineAndExitCode1(String line) {
        assertThat(run(line.split(" "))).isEqualTo(1);
        assertOneLine();
    }

    @Test
    void aCaptureHasTheBoundsThatItIsGiven() throws Exception {
        Path file = local.resolve("f");
        run("ping", "127.0.0.1:1", "--pcap", file.toString(), "--pcap-snap", "512");
        assertThat(ByteBuffer.wrap(Files.readAllBytes(file)).getInt(40)).isEqualTo(512);
        run("ping", "127.0.0.1:1", "--pcap", file.toString());
        assertThat(ByteBuffer.wrap(Files.readAllBytes(file)).getInt(40)).isZero();
    }

    @Test
    void helpIsNoError() {
        assertThat(run("--help")).isZero();
        assertThat(run("help", "serve-nfs")).isZero();
        assertThat(run("nfs", "get", "--help")).isZero();
        assertThat(err.toString()).isEmpty();
        assertThat(out.toString()).contains("serve-nfs", "--export=DIR", "nfs://HOST:PORT/PATH");
    }

    @ParameterizedTest
    @ValueSource(strings = {"ping --help", "ping -h", "serve-nfs --help", "nfs -h", "demo -h"})
    void helpShowsUsage(String line) {
        assertThat(run(line.split(" "))).isZero();
        assertThat(out.toString())
                .contains("Usage: rpcrdma " + line.substring(0, line.indexOf(' ')));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-V", "--version", "ping -V", "nfs ls --version", "leases -V"})
    void versionIsThatOfTheProgram(String line) {
        assertThat(run(line.split(" "))).isZero();
        assertThat(out.toString()).startsWith("rpcrdma 0.");
    }

    @Test
    void bytesAreCountedInUnits() {
        ByteCount count = new ByteCount();
        assertThat(count.convert("12")).isEqualTo(12);
        assertThat(count.convert("3K")).isEqualTo(3072);
        assertThat(count.convert("10M")).isEqualTo(10L << 20);
        assertThat(count.convert("2GiB")).isEqualTo(2L << 30);
        for (String wrong : new String[] {"", "M", "-1", "1T", "1.5M", "99999999999G"}) {
            assertThatThrownBy(() -> count.convert(wrong))
                    .isInstanceOf(CommandLine.TypeConversionException.class)
                    .hasMessageContaining("'" + wrong + "'");
        }
    }

    @Test
    void demoShowsThatDataWasPlacedDirectly() throws IOException {
        Path file = Files.write(local.resolve("file"), new byte[3_000_000]);
        assertThat(run("demo", "--file", file.toString(), "--size", "2500001")).isZero();
        assertThat(err.toString()).isEmpty();
        assertThat(out.toString())
                .containsPattern("calls with a Read chunk +3")
                .containsPattern("calls with a Write chunk +3")
                .containsPattern("bytes written here by RDMA +2,500,001");
    }

    @Test
    void pingShowsWhatWasNegotiated() throws IOException {
        try (NfsFixture fixture = fixture()) {
            assertThat(run("ping", at(fixture), "-c", "3")).isZero();
            assertThat(out.toString())
                    .contains("3 calls", "131072 bytes", "iwarp")
                    .containsPattern("credits +64 granted, 128 asked for");
            assertThat(out.toString()).containsPattern("RPC-over-RDMA +version 1");
            assertThat(run("ping", at(fixture), "--highest-version", "2")).isZero();
            assertThat(out.toString()).containsPattern("RPC-over-RDMA +version 1");
            assertThat(run("ping", at(fixture), "--program", "100005")).isEqualTo(1);
            assertThat(err.toString()).contains("the server has no program 100005");
        }
    }

    @Test
    void anUploadThatFailsLeavesWhatWasThere() throws IOException {
        // It says that it has 4096 bytes, and ends earlier.
        Path shorter = Path.of("/sys/kernel/uevent_seqnum");
        assumeTrue(Files.isReadable(shorter) && Files.size(shorter) == 4096);
        Files.writeString(directory.resolve("file"), "old");
        try (NfsFixture fixture = fixture()) {
            String url = "nfs://" + at(fixture) + "/file";
            assertThat(nfs(fixture, "put", shorter.toString(), url)).isEqualTo(1);
        }
        assertThat(err.toString()).contains("the local file became shorter");
        assertThat(directory.resolve("file")).hasContent("old");
        assertThat(directory.toFile().list()).containsExactly("file");
    }

    @Test
    void mountIsNamedWhenItFails() throws IOException {
        int nobody;
        try (ServerSocket closed = new ServerSocket(0)) {
            nobody = closed.getLocalPort();
        }
        try (NfsFixture fixture = fixture()) {
            String url = "nfs://" + at(fixture) + "/";
            assertThat(run("nfs", "ls", url, "--mount-port", "" + nobody)).isEqualTo(1);
        }
        assertThat(err.toString())
                .isEqualTo(
                        "rpcrdma nfs ls: MOUNT over TCP: cannot connect to 127.0.0.1:"
                                + nobody
                                + ": connection refused\n");
    }

    @Test
    void pingSaysOnceWhomItCouldNotReach() throws IOException {
        try (NfsFixture fixture = fixture()) {
            String server = "127.0.0.1:" + fixture.mountAddress().getPort();
            assertThat(run("ping", server)).isEqualTo(1);
            assertThat(err.toString()).containsOnlyOnce(server);
        }
    }

    @Test
    void whoMayConnectIsChecked() throws IOException {
        String serve = "serve-nfs --export " + directory + " ";
        for (String wrong :
                List.of(
                        "--allow 192.0.2.0/33",
                        "--allow example.org",
                        "--max-connections 0",
                        "--max-connections-per-address 0")) {
            assertThat(run((serve + wrong).split(" ", -1))).as(wrong).isEqualTo(2);
            assertThat(err.toString()).contains(wrong.split(" ", -1)[0]);
        }
    }

    @Test
    void filesAreListedAndCopied() throws IOException {
        Files.createDirectory(directory.resolve("d"));
        Path file = Files.writeString(local.resolve("file"), "content");
        try (NfsFixture fixture = fixture()) {
            String url = "nfs://" + at(fixture);
            assertThat(nfs(fixture, "put", file.toString(), url + "/d")).isZero();
            assertThat(directory.resolve("d/file")).hasContent("content");
            assertThat(out.toString())
                    .containsPattern("put file: 7 bytes in [0-9.]+ s, [0-9.]+ MB/s \\(iwarp, .*\n");
            Files.writeString(file, "new");
            assertThat(nfs(fixture, "put", file.toString(), url + "/d/file")).isZero();
            assertThat(directory.resolve("d/file")).hasContent("new");
            assertThat(nfs(fixture, "get", url + "/d/file", local.resolve("back").toString()))
                    .isZero();
            assertThat(local.resolve("back")).hasContent("new");
            assertThat(out.toString()).contains("get file: 3 bytes in ");
            assertThat(nfs(fixture, "ls", url + "/d")).isZero();
            assertThat(out.toString()).containsPattern("-rw-r--r-- +1 .* 3 .* file\n");
            Files.writeString(directory.resolve("d/a\u009bb\u202ec"), "");
            assertThat(nfs(fixture, "ls", url + "/d")).isZero();
            assertThat(out.toString()).contains(" a?b?c\n");
            assertThat(err.toString()).isEmpty();
            assertThat(nfs(fixture, "get", url + "/x", local.resolve("x").toString())).isEqualTo(1);
            assertThat(err.toString())
                    .isEqualTo("rpcrdma nfs get: /x: no such file or directory\n");
            assertThat(nfs(fixture, "get", url + "/d", local.resolve("x").toString())).isEqualTo(1);
            assertThat(nfs(fixture, "put", file.toString(), url + "/x/y")).isEqualTo(1);
            try (var left = Files.list(local)) {
                assertThat(left.map(path -> path.getFileName().toString()))
                        .containsExactlyInAnyOrder("file", "back", "key");
            }
        }
    }

    @Test
    void whatFailsIsNamedWithoutControlCharacters() throws IOException {
        try (NfsFixture fixture = fixture()) {
            String url = "nfs://" + at(fixture) + "/a\u009b2J\u202e\033b";
            assertThat(nfs(fixture, "ls", url)).isEqualTo(1);
        }
        assertThat(err.toString())
                .isEqualTo("rpcrdma nfs ls: /a?2J??b: no such file or directory\n");
    }

    /** The server's one page has both links; after the first line they are gone. */
    @Test
    void aLinkThatVanishesWhileTheListIsPrintedHasNoTarget() throws IOException {
        Files.createSymbolicLink(directory.resolve("a"), Path.of("target"));
        Files.createSymbolicLink(directory.resolve("b"), Path.of("target"));
        CommandLine command = Main.commandLine();
        command.setErr(new PrintWriter(err, true));
        command.setOut(
                new PrintWriter(out, true) {
                    @Override
                    public void println(String line) {
                        super.println(line);
                        directory.resolve("a").toFile().delete();
                        directory.resolve("b").toFile().delete();
                    }
                });
        try (NfsFixture fixture = fixture()) {
            String mountPort = Integer.toString(fixture.mountAddress().getPort());
            String url = "nfs://" + at(fixture) + "/";
            assertThat(command.execute("nfs", "ls", "--mount-port", mountPort, url)).isZero();
        }
        assertThat(out.toString()).containsPattern("-> target\n.* [ab] -> \\?\n");
        assertThat(err.toString()).isEmpty();
    }

    /** One READDIRPLUS of some 17 MB, without memory for it in the call. */
    @Test
    void aLargeDirectoryComesInOneReply(@TempDir(factory = InMemory.class) Path large)
            throws IOException {
        int files = 100_000;
        for (int i = 0; i < files; i++) {
            Files.createFile(large.resolve("file-" + i));
        }
        RpcRdmaConfig config = ReliableReplies.enable(RpcRdmaConfig.builder()).build();
        try (NfsFixture fixture =
                new NfsFixture(
                        NfsFixture.Transport.RDMA,
                        large,
                        local.resolve("key"),
                        true,
                        config,
                        ReliableReplies.RESULTS_MAX)) {
            RpcRdmaMetrics metrics = fixture.server().metrics();
            String url = "nfs://" + at(fixture) + "/";
            assertThat(nfs(fixture, "ls", "--reliable-replies", url)).isZero();
            assertThat(err.toString()).isEmpty();
            assertThat(
                            out.toString()
                                    .lines()
                                    .map(line -> line.substring(line.lastIndexOf(' ') + 1)))
                    .doesNotHaveDuplicates()
                    .hasSize(files)
                    .allMatch(name -> name.startsWith("file-"));
            assertThat(metrics.value(RpcRdmaCounter.REPLY_CHUNK_CALLS)).isZero();
            assertThat(metrics.value(RpcRdmaCounter.READ_CHUNK_REPLIES)).isEqualTo(1);
            assertThat(metrics.value(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED)).isEqualTo(1);
            assertThat(metrics.value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
        }
    }

    /** So many files are made in a second where no disk is asked. */
    static final class InMemory implements TempDirFactory {
        private static final Path MEMORY = Path.of("/dev/shm");

        @Override
        public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context)
                throws IOException {
            return Files.isWritable(MEMORY)
                    ? Files.createTempDirectory(MEMORY, "rpcrdma")
                    : Files.createTempDirectory("rpcrdma");
        }
    }

    private NfsFixture fixture() throws IOException {
        return new NfsFixture(NfsFixture.Transport.RDMA, directory, local.resolve("key"), false);
    }

    private static String at(NfsFixture fixture) {
        return "127.0.0.1:" + fixture.nfsAddress().getPort();
    }

    private int nfs(NfsFixture fixture, String command, String... args) {
        String[] line = new String[args.length + 4];
        line[0] = "nfs";
        line[1] = command;
        line[2] = "--mount-port";
        line[3] = Integer.toString(fixture.mountAddress().getPort());
        System.arraycopy(args, 0, line, 4, args.length);
        return run(line);
    }

    private int run(String... args) {
        CommandLine command = Main.commandLine(args);
        command.setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return command.execute(args);
    }

    private void assertOneLine() {
        assertThat(err.toString()).startsWith("rpcrdma").endsWith("\n").containsOnlyOnce("\n");
        assertThat(err.toString()).doesNotContain("Exception");
    }
}
