// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each package says whether users may rely on it: it is stable, experimental, or internal. */
class StabilityTest {

    @Test
    void eachPackageSaysHowStableItIs() throws IOException {
        Path home = Path.of(System.getProperty("basedir")).toAbsolutePath().getParent();
        for (String module : List.of("netty-transport-rdma", "codec-rpcrdma")) {
            Path sources = home.resolve(module).resolve("src/main/java");
            try (Stream<Path> files = Files.walk(sources)) {
                List<Path> packages =
                        files.filter(file -> file.toString().endsWith(".java"))
                                .map(Path::getParent)
                                .distinct()
                                .filter(directory -> !directory.equals(sources))
                                .toList();
                assertThat(packages).isNotEmpty();
                for (Path directory : packages) {
                    assertThat(directory.resolve("package-info.java"))
                            .isRegularFile()
                            .content()
                            .containsPattern("\\b(Stable|Experimental|Internal)[.,:]");
                }
            }
        }
    }
}
