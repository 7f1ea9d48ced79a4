// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Future;
import java.io.File;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of docs/configuration.md compiles. */
class AdmissionPageTest {

    @TempDir private Path classes;

    @Test
    void theExampleCompiles() throws Exception {
        String page =
                Files.readString(
                        Path.of(System.getProperty("basedir", "."))
                                .resolve("../docs/configuration.md"));
        String section = page.substring(page.indexOf("## Who may connect"));
        int begin = section.indexOf("```java\n") + "```java\n".length();
        String code = section.substring(begin, section.indexOf("```\n", begin));
        String source =
                code.lines()
                                .filter(line -> line.startsWith("import"))
                                .collect(Collectors.joining("\n"))
                        + "\nclass Example {\n"
                        + "boolean isKnown(java.net.InetSocketAddress address) { return true; }\n"
                        + "void set(ServerBootstrap bootstrap) {\n"
                        + code.lines()
                                .filter(line -> !line.startsWith("import"))
                                .collect(Collectors.joining("\n"))
                        + "\n}\n}\n";
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> options = List.of("-proc:none", "-cp", classPath(), "-d", classes.toString());
        boolean isCompiled =
                compiler.getTask(null, null, found, options, null, List.of(new Source(source)))
                        .call();

        assertThat(found.getDiagnostics()).isEmpty();
        assertThat(isCompiled).isTrue();
    }

    private static String classPath() {
        return Stream.of(AdmissionPolicy.class, ServerBootstrap.class, Future.class, ByteBuf.class)
                .map(type -> type.getProtectionDomain().getCodeSource().getLocation())
                .map(url -> Path.of(URI.create(url.toString())).toString())
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String text) {
            super(URI.create("string:///Example.java"), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }
}
