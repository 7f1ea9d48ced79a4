// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Both libraries are modules, and an application that was compiled against them runs with and without modules. */
class ModulePathTest {

    private static final String APPLICATION =
            """
            package application;

            import io.netty.buffer.ByteBuf;
            import io.netty.util.internal.PlatformDependent;
            import org.rpcrdma.channel.Rdma;
            import org.rpcrdma.codec.RpcRdmaConfig;
            import org.rpcrdma.codec.rpc.CallOptions;
            import org.rpcrdma.codec.rpc.CallHeader;

            public class Main {
                public static void main(String[] arguments) {
                    RpcRdmaConfig config = RpcRdmaConfig.defaults();
                    System.out.println(config.bindings().find(100003, 3).getClass().getName());
                    System.out.println(Rdma.provider("iwarp").getClass().getName());
                    System.out.println(config.getClass().getModule());
                    System.out.println("Unsafe " + PlatformDependent.hasUnsafe());
                    System.out.println(CallOptions.DEFAULT != null);
                }
            }
            """;

    @TempDir private Path directory;

    private ModuleJars jars;

    @BeforeEach
    void setUp() throws Exception {
        jars = new ModuleJars(directory);
    }

    @Test
    void anApplicationRunsOnTheModulePath() throws Exception {
        Path classes =
                compiled(
                        "module application { requires org.rpcrdma.codec; }",
                        "--module-path",
                        jars.path());
        assertThat(
                        run(
                                "--module-path",
                                jars.path() + File.pathSeparator + classes,
                                "--module",
                                "application/application.Main"))
                .contains(
                        "org.rpcrdma.codec.binding.Nfs3Binding",
                        "org.rpcrdma.verbs.iwarp.IwarpProvider",
                        "module org.rpcrdma.codec",
                        "Unsafe true");
    }

    @Test
    void theSameApplicationRunsOnTheClassPath() throws Exception {
        Path classes = compiled(null, "-cp", jars.path());
        assertThat(run("-cp", jars.path() + File.pathSeparator + classes, "application.Main"))
                .contains(
                        "org.rpcrdma.codec.binding.Nfs3Binding",
                        "org.rpcrdma.verbs.iwarp.IwarpProvider",
                        "unnamed module",
                        "Unsafe true");
    }

    /** On the class path the files in META-INF say it, on the module path the descriptor does. */
    @Test
    void bothSayTheSameOfProviders() throws Exception {
        Path services =
                Path.of(System.getProperty("basedir"))
                        .resolveSibling("netty-transport-rdma")
                        .resolve("src/main/resources/META-INF/services");
        for (ModuleDescriptor module : libraries()) {
            for (ModuleDescriptor.Provides provided : module.provides()) {
                assertThat(Files.readAllLines(services.resolve(provided.service())))
                        .containsExactlyElementsOf(provided.providers());
            }
        }
        try (Stream<Path> files = Files.list(services)) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrderElementsOf(
                            libraries().stream()
                                    .flatMap(module -> module.provides().stream())
                                    .map(ModuleDescriptor.Provides::service)
                                    .toList());
        }
    }

    /** Who has Netty alone needs nothing else. */
    @Test
    void nothingButNettyIsMandatory() {
        Set<String> mandatory =
                libraries().stream()
                        .flatMap(module -> module.requires().stream())
                        .filter(
                                required ->
                                        !required.modifiers()
                                                .contains(
                                                        ModuleDescriptor.Requires.Modifier.STATIC))
                        .map(ModuleDescriptor.Requires::name)
                        .filter(name -> !name.startsWith("io.netty."))
                        .collect(Collectors.toSet());
        assertThat(mandatory)
                .containsExactlyInAnyOrder(
                        "java.base", "java.management", "jdk.unsupported", "org.rpcrdma.channel");
    }

    private List<ModuleDescriptor> libraries() {
        return ModuleFinder.of(jars.jars().toArray(new Path[0])).findAll().stream()
                .map(found -> found.descriptor())
                .filter(module -> module.name().startsWith("org.rpcrdma."))
                .peek(module -> assertThat(module.isAutomatic()).isFalse())
                .toList();
    }

    private Path compiled(String descriptor, String... options) throws Exception {
        Path sources = Files.createDirectories(directory.resolve("application/source"));
        Path classes = directory.resolve("application/classes");
        List<String> arguments = new ArrayList<>(List.of(options));
        arguments.addAll(List.of("-nowarn", "--release", "17", "-d", classes.toString()));
        Path main = Files.writeString(sources.resolve("Main.java"), APPLICATION);
        arguments.add(main.toString());
        if (descriptor != null) {
            Path module = Files.writeString(sources.resolve("module-info.java"), descriptor);
            arguments.add(module.toString());
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
