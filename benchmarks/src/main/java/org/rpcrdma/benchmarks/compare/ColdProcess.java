// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A {@link ColdWorker}, seen from the process that has started it. */
final class ColdProcess implements AutoCloseable {

    private final Process process;
    private final BufferedReader out;

    ColdProcess(List<String> jvmArguments, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
        command.addAll(jvmArguments);
        command.addAll(
                List.of("-cp", System.getProperty("java.class.path"), ColdWorker.class.getName()));
        command.addAll(List.of(arguments));
        process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        out =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /**
     * @throws IllegalStateException when the worker ends without its line
     */
    String line() throws IOException {
        String line = out.readLine();
        if (line == null) {
            throw new IllegalStateException("a worker has ended; its last words are above");
        }
        return line;
    }

    @Override
    public void close() {
        process.destroy();
        process.onExit().join();
    }
}
