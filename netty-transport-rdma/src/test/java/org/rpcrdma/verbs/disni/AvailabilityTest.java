// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * What is missing is said in one sentence, and keeps nobody from the software RNIC. Each test has its own copy of
 * all classes.
 */
class AvailabilityTest {

    private static URLClassLoader classesWithout(Predicate<String> left) throws IOException {
        List<URL> urls = new ArrayList<>();
        for (String entry :
                Pattern.compile(File.pathSeparator, Pattern.LITERAL)
                        .splitAsStream(System.getProperty("java.class.path"))
                        .filter(left.negate())
                        .toList()) {
            urls.add(url(entry));
        }
        return new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }

    private static URL url(String entry) throws MalformedURLException {
        return new File(entry).toURI().toURL();
    }

    private static Throwable cause(ClassLoader classes) throws ReflectiveOperationException {
        return (Throwable)
                classes.loadClass("org.rpcrdma.verbs.disni.Disni")
                        .getMethod("unavailabilityCause")
                        .invoke(null);
    }

    private static String best(ClassLoader classes) throws ReflectiveOperationException {
        Object provider =
                classes.loadClass("org.rpcrdma.channel.Rdma").getMethod("provider").invoke(null);
        Class<?> type = classes.loadClass("org.rpcrdma.verbs.VerbsProvider");
        return (String) type.getMethod("name").invoke(provider);
    }

    @Test
    void withoutTheJar() throws Exception {
        try (URLClassLoader classes = classesWithout(entry -> entry.contains("disni-2"))) {
            assertThat(cause(classes))
                    .hasMessageContaining("class path")
                    .hasMessageContaining("com.ibm.disni:disni:2.1");
            unnamed(() -> assertThat(best(classes)).isEqualTo("iwarp"));
        }
    }

    @Test
    void withoutTheLoggingThatItNeeds() throws Exception {
        try (URLClassLoader classes = classesWithout(entry -> entry.contains("slf4j-api"))) {
            assertThat(cause(classes)).hasMessageContaining("org.slf4j:slf4j-api");
            unnamed(() -> assertThat(best(classes)).isEqualTo("iwarp"));
        }
    }

    /** This machine has none; the tests do not put it there. */
    @Test
    void withoutTheNativeLibrary() throws Exception {
        try (URLClassLoader classes = classesWithout(entry -> false)) {
            assertThat(cause(classes))
                    .hasMessageContaining("libdisni.so")
                    .hasMessageContaining("-Djava.library.path");
            unnamed(() -> assertThat(best(classes)).isEqualTo("iwarp"));
        }
    }

    @Test
    void withoutTheExport() throws Exception {
        assertThat(causeInAnotherJvm()).contains("--add-exports java.base/sun.nio.ch=ALL-UNNAMED");
    }

    @Test
    void withoutUnsafe() throws Exception {
        assertThat(
                        causeInAnotherJvm(
                                "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
                                "-Dio.netty.noUnsafe=true"))
                .contains("sun.misc.Unsafe")
                .contains("provider ffm");
    }

    private static String causeInAnotherJvm(String... options) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(new File(System.getProperty("java.home"), "bin/java").getPath());
        command.addAll(List.of(options));
        command.addAll(
                List.of("-cp", System.getProperty("java.class.path"), ShowCause.class.getName()));
        Process process =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String cause = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).isZero();
        return cause;
    }

    /** As for a user who names no provider. */
    private static void unnamed(Step step) throws Exception {
        String before = System.clearProperty("org.rpcrdma.provider");
        try {
            step.run();
        } finally {
            if (before != null) {
                System.setProperty("org.rpcrdma.provider", before);
            }
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    /** Prints what is missing. */
    static final class ShowCause {

        private ShowCause() {}

        public static void main(String[] arguments) {
            System.out.println(Disni.unavailabilityCause().getMessage());
        }
    }
}
