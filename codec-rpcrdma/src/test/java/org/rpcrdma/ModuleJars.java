// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.RpcRdmaCodec;

/** The module path of an application: both libraries as modular jars, and Netty's. */
public final class ModuleJars {

    /** The parts of Netty that the libraries need. */
    private static final Pattern NETTY =
            Pattern.compile(
                    ".*netty-(common|buffer|transport|transport-native-unix-common|resolver|codec"
                            + "|codec-base|handler)-\\d[^/]*\\.jar");

    /** What module descriptors name with {@code requires static}: compilers look for it, applications do without. */
    private static final Pattern OPTIONAL =
            Pattern.compile(
                    ".*/(disni|micrometer-core|oncrpc4j-core|grizzly-framework)-\\d[^/]*\\.jar");

    private static final String DESCRIPTOR = "module-info.class";

    private final Path directory;
    private final List<String> path = new ArrayList<>();

    /** Makes jars, in that directory, of what is compiled and not packaged. */
    public ModuleJars(Path directory) throws Exception {
        this.directory = directory;
        path.addAll(ofClassPath(NETTY));
        path.add(jar(RdmaChannel.class, "netty-transport-rdma", "org.rpcrdma.channel"));
        path.add(jar(RpcRdmaCodec.class, "codec-rpcrdma", "org.rpcrdma.codec"));
    }

    /** As the option {@code --module-path} wants it. */
    public String path() {
        return String.join(File.pathSeparator, path);
    }

    /** Each jar. */
    public List<Path> jars() {
        return path.stream().map(Path::of).toList();
    }

    private static List<String> ofClassPath(Pattern wanted) {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> wanted.matcher(entry.replace('\\', '/')).matches())
                .toList();
    }

    /** The jar that the class is in, or one that is made of its directory. */
    private String jar(Class<?> type, String project, String module) throws Exception {
        Path classes = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        if (!Files.isDirectory(classes)) {
            return classes.toString();
        }
        Path jar = directory.resolve(project + ".jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                String name = classes.relativize(file).toString().replace(File.separatorChar, '/');
                if (!name.equals(JarFile.MANIFEST_NAME) && !name.equals(DESCRIPTOR)) {
                    add(entries, name, file);
                }
            }
            add(entries, DESCRIPTOR, descriptor(classes, project, module));
        }
        return jar.toString();
    }

    /** Compiled anew, so that it is never older than its source. */
    private Path descriptor(Path classes, String project, String module) throws IOException {
        Path source =
                Path.of(System.getProperty("basedir"))
                        .toAbsolutePath()
                        .resolveSibling(project)
                        .resolve("src/main/module/module-info.java");
        Path compiled = Files.createDirectory(directory.resolve(module));
        String needed =
                String.join(
                        File.pathSeparator,
                        Stream.concat(path.stream(), ofClassPath(OPTIONAL).stream()).toList());
        int result =
                ToolProvider.getSystemJavaCompiler()
                        .run(
                                null,
                                null,
                                null,
                                "-nowarn",
                                "--release",
                                "17",
                                "--module-path",
                                needed,
                                "--patch-module",
                                module + '=' + classes,
                                "-d",
                                compiled.toString(),
                                source.toString());
        assertThat(result).as(source.toString()).isZero();
        return compiled.resolve(DESCRIPTOR);
    }

    private static void add(JarOutputStream jar, String name, Path file) throws IOException {
        jar.putNextEntry(new JarEntry(name));
        Files.copy(file, jar);
        jar.closeEntry();
    }
}
