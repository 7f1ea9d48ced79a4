// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.Channel;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.RdmaChannel;

/** An application with the lines of docs/configuration.md runs, on the module path and on the class path. */
class DocumentedUseTest {

    private static final Pattern LINES =
            Pattern.compile("```java\n([^`]*RdmaIoHandler\\.newFactory\\(\\)[^`]*)```");

    private static final Pattern NETTY =
            Pattern.compile(
                    ".*netty-(common|buffer|transport|transport-native-unix-common|resolver)-\\d[^/]*\\.jar");

    private static final String APPLICATION =
            """
            package application;

            import io.netty.bootstrap.*;
            import io.netty.channel.*;
            import io.netty.util.Version;
            import java.net.InetAddress;
            import org.rpcrdma.channel.*;
            import org.rpcrdma.channel.io.RdmaIoHandler;

            public class Main {
                public static void main(String[] arguments) throws Exception {
                    %s
                    try {
                        connect(group);
                    } finally {
                        group.shutdownGracefully(0, 10, java.util.concurrent.TimeUnit.SECONDS);
                    }
                }

                static void connect(EventLoopGroup group) throws Exception {
                    Channel server = new ServerBootstrap().group(group)
                            .channel(RdmaServerStreamChannel.class)
                            .childHandler(new ChannelInboundHandlerAdapter())
                            .bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
                    Channel client = new Bootstrap().group(group)
                            .channel(RdmaStreamChannel.class)
                            .handler(new ChannelInboundHandlerAdapter())
                            .connect(server.localAddress()).sync().channel();
                    System.out.println("active " + client.isActive());
                    System.out.println(RdmaIoHandler.class.getModule());
                    System.out.println("Netty "
                            + Version.identify().get("netty-transport").artifactVersion());
                }
            }
            """;

    @TempDir private Path directory;

    private String path;

    @BeforeEach
    void findLibraries() throws Exception {
        List<String> entries = new ArrayList<>();
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> NETTY.matcher(entry.replace('\\', '/')).matches())
                .forEach(entries::add);
        for (Class<?> type : List.of(RdmaChannel.class, RdmaIoHandler.class)) {
            entries.add(home(type));
        }
        path = String.join(File.pathSeparator, entries);
    }

    private static String home(Class<?> type) throws URISyntaxException {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    }

    @Test
    void theLinesRunOnTheModulePath() throws Exception {
        Path classes =
                compiled(
                        "module application { requires org.rpcrdma.channel.io; }",
                        "--module-path",
                        path);
        assertThat(
                        run(
                                "--module-path",
                                path + File.pathSeparator + classes,
                                "--module",
                                "application/application.Main"))
                .contains("active true", "module org.rpcrdma.channel.io", netty());
    }

    @Test
    void theLinesRunOnTheClassPath() throws Exception {
        Path classes = compiled(null, "-cp", path);
        assertThat(run("-cp", path + File.pathSeparator + classes, "application.Main"))
                .contains("active true", "unnamed module", netty());
    }

    /** The version that the POM wants here. */
    private static String netty() throws URISyntaxException {
        assertThat(home(Channel.class)).contains(System.getProperty("netty.expected"));
        return "Netty " + System.getProperty("netty.expected");
    }

    private static String lines() throws IOException {
        Path page = Path.of(System.getProperty("basedir")).resolve("../../docs/configuration.md");
        Matcher lines = LINES.matcher(Files.readString(page));
        assertThat(lines.find()).isTrue();
        return lines.group(1);
    }

    private Path compiled(String descriptor, String... options) throws IOException {
        Path sources = Files.createDirectories(directory.resolve("application/source"));
        Path classes = directory.resolve("application/classes");
        List<String> arguments = new ArrayList<>(List.of(options));
        arguments.addAll(List.of("-nowarn", "--release", "17", "-d", classes.toString()));
        Path main = sources.resolve("Main.java");
        arguments.add(Files.writeString(main, APPLICATION.formatted(lines())).toString());
        if (descriptor != null) {
            Path module = sources.resolve("module-info.java");
            arguments.add(Files.writeString(module, descriptor).toString());
        }
        int result =
                ToolProvider.getSystemJavaCompiler()
                        .run(null, null, null, arguments.toArray(new String[0]));
        assertThat(result).isZero();
        return classes;
    }

    private static String run(String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (Runtime.version().feature() >= 24) {
            command.add("--sun-misc-unsafe-memory-access=allow");
        }
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }
}
