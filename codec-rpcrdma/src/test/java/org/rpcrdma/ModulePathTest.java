// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.RpcRdmaConfig;

/** Both jars are modules by the names in their manifests, and work as such beside Netty's. */
class ModulePathTest {

    private static final Pattern NAME =
            Pattern.compile("<Automatic-Module-Name>(.*)</Automatic-Module-Name>");

    @TempDir private Path directory;

    private final ClassLoader before = Thread.currentThread().getContextClassLoader();

    @AfterEach
    void restore() {
        Thread.currentThread().setContextClassLoader(before);
    }

    @Test
    void theCodecIsConfiguredOnTheModulePath() throws Exception {
        List<Path> path = new ArrayList<>();
        path.add(moduleOf(RdmaChannel.class, "netty-transport-rdma"));
        path.add(moduleOf(RpcRdmaConfig.class, "codec-rpcrdma"));
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (Path.of(entry).getFileName().toString().startsWith("netty-")
                    && entry.contains("/io/netty/")) {
                path.add(Path.of(entry));
            }
        }
        ModuleFinder finder = ModuleFinder.of(path.toArray(new Path[0]));
        Configuration configuration =
                ModuleLayer.boot()
                        .configuration()
                        .resolveAndBind(
                                finder,
                                ModuleFinder.of(),
                                Set.of("org.rpcrdma.channel", "org.rpcrdma.codec"));
        ClassLoader loader =
                ModuleLayer.boot()
                        .defineModulesWithOneLoader(
                                configuration, ClassLoader.getPlatformClassLoader())
                        .findLoader("org.rpcrdma.codec");

        // Bindings are looked up by it.
        Thread.currentThread().setContextClassLoader(loader);
        Class<?> config = loader.loadClass("org.rpcrdma.codec.RpcRdmaConfig");
        assertThat(config.getModule().getName()).isEqualTo("org.rpcrdma.codec");
        Object defaults = config.getMethod("defaults").invoke(null);
        assertThat(config.getMethod("grantedCredits").invoke(defaults)).isEqualTo(64);
        Class<?> channel = loader.loadClass("org.rpcrdma.channel.RdmaChannel");
        assertThat(channel.getModule().getName()).isEqualTo("org.rpcrdma.channel");
        Class<?> rdma = loader.loadClass("org.rpcrdma.channel.Rdma");
        Object provider = rdma.getMethod("provider", String.class).invoke(null, "iwarp");
        assertThat(provider.getClass().getModule().getName()).isEqualTo("org.rpcrdma.channel");
    }

    /** The jar that the class is in, or one of its directory with the name that the POM gives the jar. */
    private Path moduleOf(Class<?> type, String module) throws Exception {
        URI location = type.getProtectionDomain().getCodeSource().getLocation().toURI();
        Path classes = Path.of(location);
        if (!Files.isDirectory(classes)) {
            return classes;
        }
        Path pom = Path.of(System.getProperty("basedir")).resolveSibling(module).resolve("pom.xml");
        Matcher name = NAME.matcher(Files.readString(pom));
        assertThat(name.find()).as(pom.toString()).isTrue();
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Automatic-Module-Name", name.group(1));
        Path jar = directory.resolve(module + ".jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out, manifest);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                add(entries, classes.relativize(file).toString(), file);
            }
        }
        return jar;
    }

    private static void add(JarOutputStream jar, String name, Path file) throws IOException {
        if (!name.equals(JarFile.MANIFEST_NAME)) {
            jar.putNextEntry(new JarEntry(name));
            Files.copy(file, jar);
            jar.closeEntry();
        }
    }
}
