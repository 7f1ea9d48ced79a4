// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A {@link Worker}, seen from the process that has started it. Made stopped between its requests by whoever uses it.
 */
final class WorkerProcess implements AutoCloseable {

    private static final long END_SECONDS = 15;

    private final Gson gson = new Gson();
    private final Process process;
    private final PrintStream in;
    private final BufferedReader out;

    WorkerProcess(String contender, List<String> jvmArguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
        command.addAll(jvmArguments);
        command.addAll(
                List.of(
                        "-cp",
                        System.getProperty("java.class.path"),
                        Worker.class.getName(),
                        contender));
        process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        // One that is stopped would outlive an interrupted run.
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        in = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
        out =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /**
     * @throws IllegalStateException when the worker says that something went wrong, or is gone
     */
    Answer ask(Request request) throws IOException {
        in.println(gson.toJson(request));
        String line = out.readLine();
        if (line == null) {
            throw new IllegalStateException("a worker has ended; its last words are above");
        }
        Answer answer = gson.fromJson(line, Answer.class);
        if (answer.problem() != null) {
            throw new IllegalStateException(answer.problem());
        }
        return answer;
    }

    /** Takes it off the CPU: an event loop that never blocks would take its share from those that are measured. */
    void suspend() throws IOException, InterruptedException {
        signal("STOP");
    }

    void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    private void signal(String name) throws IOException, InterruptedException {
        int status =
                new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                        .redirectErrorStream(true)
                        .start()
                        .waitFor();
        if (status != 0) {
            throw new IllegalStateException(
                    "kill -"
                            + name
                            + " ended with "
                            + status
                            + " (expected: 0, on Linux or macOS)");
        }
    }

    @Override
    public void close() {
        try {
            resume();
            in.println(gson.toJson(Request.of(Request.Command.QUIT)));
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            process.destroyForcibly();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
