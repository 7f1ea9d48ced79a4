// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.testsuite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.netty.testsuite.transport.socket.SocketEchoTest;
import io.netty.util.Version;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;
import org.opentest4j.TestAbortedException;

/**
 * Netty's own testsuite on the channels of this library: each test of each class that is not excluded, also those that
 * a later Netty brings.
 */
@Tag("netty-testsuite")
class NettyTestsuiteTest {

    private static final String PACKAGE = "io/netty/testsuite/transport/socket/";
    private static final Path MODULE = Path.of(System.getProperty("basedir", "."));
    private static final Path DOCUMENT = MODULE.resolve("../docs/netty-testsuite.md");
    private static final Exclusions EXCLUSIONS = Exclusions.read();

    @TestFactory
    Stream<DynamicContainer> onStreams() {
        return containers(Subject.STREAM);
    }

    @TestFactory
    Stream<DynamicContainer> onMessages() {
        return containers(Subject.MESSAGES);
    }

    private static Stream<DynamicContainer> containers(Subject subject) {
        List<Class<?>> classes =
                classes().stream()
                        .filter(test -> !EXCLUSIONS.excludes(subject, test.getSimpleName()))
                        .toList();
        assertThat(classes).describedAs("classes to run").hasSizeGreaterThan(10);
        return classes.stream()
                .map(
                        test -> {
                            Class<?> swapped = subject.on(test);
                            return DynamicContainer.dynamicContainer(
                                    test.getSimpleName(),
                                    methods(test).stream()
                                            .filter(
                                                    method ->
                                                            !EXCLUSIONS.excludes(
                                                                    subject, name(test, method)))
                                            .map(
                                                    method ->
                                                            DynamicTest.dynamicTest(
                                                                    method.getName(),
                                                                    () -> run(swapped, method))));
                        });
    }

    private static void run(Class<?> test, Method method) throws Throwable {
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectMethod(test, method))
                                .filters(EngineFilter.includeEngines("junit-jupiter"))
                                .build(),
                        listener);
        TestExecutionSummary summary = listener.getSummary();
        for (TestExecutionSummary.Failure failure : summary.getFailures()) {
            throw failure.getException();
        }
        assertThat(summary.getTestsFoundCount()).describedAs("tests found").isPositive();
        if (summary.getTestsSucceededCount() == 0) {
            throw new TestAbortedException(name(test, method) + " does not run here");
        }
    }

    private static String name(Class<?> test, Method method) {
        return test.getSimpleName() + '.' + method.getName();
    }

    /** The test classes of the jar. */
    private static List<Class<?>> classes() {
        try (JarFile jar =
                new JarFile(
                        Path.of(
                                        SocketEchoTest.class
                                                .getProtectionDomain()
                                                .getCodeSource()
                                                .getLocation()
                                                .toURI())
                                .toFile())) {
            return jar.stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.startsWith(PACKAGE) && name.endsWith("Test.class"))
                    .<Class<?>>map(NettyTestsuiteTest::load)
                    .filter(test -> !Modifier.isAbstract(test.getModifiers()))
                    .sorted(Comparator.comparing(Class::getSimpleName))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Class<?> load(String entry) {
        try {
            // Not initialized: some look for a certificate, which only those that are run have
            // to find.
            return Class.forName(
                    entry.replace('/', '.').replace(".class", ""),
                    false,
                    NettyTestsuiteTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    private static List<Method> methods(Class<?> test) {
        return Arrays.stream(test.getMethods())
                .filter(
                        method ->
                                method.isAnnotationPresent(Test.class)
                                        || method.isAnnotationPresent(ParameterizedTest.class))
                .sorted(Comparator.comparing(Method::getName))
                .toList();
    }

    /** An exclusion that excludes nothing would hide that a test was renamed. */
    @Test
    void whatIsExcludedExists() {
        Set<String> names = new TreeSet<>();
        for (Class<?> test : classes()) {
            names.add(test.getSimpleName());
            methods(test).forEach(method -> names.add(name(test, method)));
        }
        assertThat(EXCLUSIONS.all())
                .allMatch(exclusion -> names.stream().anyMatch(exclusion::excludes));
    }

    @Test
    void theDocumentSaysWhatIsExcluded() throws IOException {
        String version = Version.identify().get("netty-transport").artifactVersion();
        assumeThat(version).describedAs("what the document names").startsWith("4.1.");
        String document = EXCLUSIONS.document(version);
        Path written = MODULE.resolve("target/netty-testsuite.md");
        Files.writeString(written, document);
        assertThat(Files.exists(DOCUMENT) ? Files.readString(DOCUMENT) : "")
                .describedAs("docs/netty-testsuite.md is made by this test: copy " + written)
                .isEqualTo(document);
    }
}
