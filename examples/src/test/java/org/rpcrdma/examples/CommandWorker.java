// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;

/**
 * Runs commands of the launcher one after the other in one JVM, which takes long to begin where the machine is
 * emulated. Each line of standard input is {@code FILE COMMAND ARGUMENT...}: what the command prints goes to
 * {@code FILE}, then its exit status to {@code FILE.status}, which appears as a whole. An empty line ends it.
 */
public final class CommandWorker {

    private CommandWorker() {}

    public static void main(String[] none) throws IOException {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); !line.isEmpty(); line = lines.readLine()) {
            List<String> words = Arrays.asList(line.split(" ", -1));
            run(Path.of(words.get(0)), words.subList(1, words.size()).toArray(String[]::new));
        }
        System.exit(0); // loops of the provider may have threads that are no daemons
    }

    private static void run(Path output, String... command) throws IOException {
        PrintStream out = System.out;
        PrintStream err = System.err;
        int status;
        try (PrintStream file = new PrintStream(Files.newOutputStream(output), true)) {
            System.setOut(file);
            System.setErr(file);
            status = Main.run(command);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        Path written = Files.writeString(Path.of(output + ".new"), status + "\n");
        Files.move(written, Path.of(output + ".status"), StandardCopyOption.ATOMIC_MOVE);
    }
}
