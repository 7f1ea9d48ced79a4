// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** What is on the class path and cannot be loaded hides nothing. */
class RdmaProvidersTest {

    private static final int MAJOR_VERSION = 7;
    private static final byte FUTURE = 127;

    @Test
    void aProviderThatCannotBeLoadedHidesNoOther(@TempDir Path directory) throws Exception {
        Path services = Files.createDirectories(directory.resolve("META-INF/services"));
        Files.writeString(
                services.resolve(VerbsProvider.class.getName()),
                "no.such.Provider\nof.the.Future\norg.rpcrdma.verbs.VerbsProvider\n");
        try (InputStream in = VerbsProvider.class.getResourceAsStream("VerbsProvider.class")) {
            byte[] future = in.readAllBytes();
            future[MAJOR_VERSION] = FUTURE;
            Files.createDirectories(directory.resolve("of/the"));
            Files.write(directory.resolve("of/the/Future.class"), future);
        }
        List<URL> urls = new ArrayList<>(List.of(directory.toUri().toURL()));
        for (String entry :
                Pattern.compile(File.pathSeparator, Pattern.LITERAL)
                        .splitAsStream(System.getProperty("java.class.path"))
                        .toList()) {
            urls.add(new File(entry).toURI().toURL());
        }
        try (URLClassLoader classes =
                new URLClassLoader(
                        urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            Object provider =
                    classes.loadClass("org.rpcrdma.channel.Rdma")
                            .getMethod("provider", String.class)
                            .invoke(null, "iwarp");
            assertThat(provider.getClass().getName()).isEqualTo(IwarpProvider.class.getName());
        }
    }
}
