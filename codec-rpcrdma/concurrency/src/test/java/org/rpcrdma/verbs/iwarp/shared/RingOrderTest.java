// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs {@link RingOrderings} by jcstress, in JVMs with the optimizing compiler, which may reorder, and with its order
 * shuffled by seeds.
 *
 * <p>Found on x86-64: {@code isAnnounced} without its fence; a tail that is published before the bytes; a START that is
 * set behind the tail; a head that is published before the bytes are copied out. Not found there: {@code announce}
 * without its fence, because {@code verify()} takes longer than the store. A processor with weaker order has to find
 * it.
 */
class RingOrderTest {

    private static final String[] OPTIONS = {
        "-t",
        "RingOrderings",
        "-f",
        "1",
        "-fsm",
        "1",
        "-iters",
        "1",
        "-time",
        "300",
        "-sc",
        "false",
        "-af",
        "NONE",
        "-jvmArgs",
        "-XX:-TieredCompilation",
        "-strideSize",
        "64",
        "-strideCount",
        "50",
        "-r"
    };

    @Test
    void noOrderOfTheRingsIsForbidden(@TempDir Path results) throws Exception {
        ProcessBuilder jcstress =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "org.openjdk.jcstress.Main");
        jcstress.command().addAll(List.of(OPTIONS));
        jcstress.command().add(results.toString());
        Process process = jcstress.directory(results.toFile()).redirectErrorStream(true).start();
        String told = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(told).isZero();
        assertThat(told).contains("10 passed, 0 failed, 0 soft errs, 0 hard errs");
    }
}
