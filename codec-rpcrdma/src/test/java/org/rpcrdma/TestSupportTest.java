// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.ffm.SoftwareFfmProvider;

/** The artifact for tests has what its services name: the sources in it are a selection, the services are not. */
class TestSupportTest {

    @Test
    void hasEveryClassThatItsServicesName() throws Exception {
        Path artifact =
                Path.of(
                        SoftwareFfmProvider.class
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .toURI());
        if (Files.isDirectory(artifact)) {
            check(artifact);
            return;
        }
        try (FileSystem jar = FileSystems.newFileSystem(artifact)) {
            check(jar.getPath("/"));
        }
    }

    private static void check(Path root) throws IOException {
        try (Stream<Path> services = Files.list(root.resolve("META-INF/services"))) {
            assertThat(services.toList())
                    .isNotEmpty()
                    .allSatisfy(
                            service ->
                                    assertThat(Files.readAllLines(service))
                                            .isNotEmpty()
                                            .allSatisfy(
                                                    name ->
                                                            assertThat(fileOf(root, name))
                                                                    .exists()));
        }
    }

    private static Path fileOf(Path root, String name) {
        return root.resolve(name.replace('.', '/') + ".class");
    }
}
