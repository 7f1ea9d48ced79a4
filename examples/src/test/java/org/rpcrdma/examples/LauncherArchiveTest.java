// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the launcher tells the JVM about classes that another one has kept. */
class LauncherArchiveTest {

    private static final Pattern FLAGS =
            Pattern.compile("flags\\+=\\(-XX:SharedArchiveFile=(.*)\\)");

    @TempDir Path directory;

    /** Such as one that was made by another JVM. */
    @Test
    void anArchiveThatDoesNotFitIsIgnoredInSilence() throws Exception {
        Path archive = Files.writeString(directory.resolve("other.jsa"), "not of this JVM");
        Matcher found = FLAGS.matcher(Files.readString(Path.of("..", "rpcrdma")));
        assertThat(found.find()).isTrue();
        List<String> line = new ArrayList<>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ("-XX:SharedArchiveFile=" + found.group(1)).split(" ", -1)) {
            line.add(flag.replace("\"$archive\"", archive.toString()).replace("'", ""));
        }
        assertThat(line).hasSize(3);
        line.add("--version");
        Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
        try {
            String said =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isZero();
            assertThat(said).contains("build").doesNotContain("warning").doesNotContain("archive");
        } finally {
            process.destroyForcibly();
        }
    }
}
