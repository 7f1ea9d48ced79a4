// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.StringTokenizer;
import java.util.stream.Stream;

/** Explains in one sentence why memory could not be registered, and what to do. */
final class RegistrationFailureMessages {

    private static final Path LIMITS = Path.of("/proc/self/limits");

    private RegistrationFailureMessages() {}

    /**
     * @param wanted the bytes that were to be registered
     * @param registered the bytes that this event loop has registered
     */
    static IllegalStateException of(IOException cause, long wanted, long registered) {
        String message = NativeErrorMessages.reason(cause);
        // The text of strerror(ENOMEM), which follows the locale; the limit is by far the
        // commonest cause.
        boolean isMemoryLimit = message.contains("Cannot allocate memory");
        return new IllegalStateException(
                (isMemoryLimit
                                ? "The limit of locked memory (RLIMIT_MEMLOCK, here "
                                        + limit()
                                        + ") does not let the device register "
                                : "The device cannot register ")
                        + wanted
                        + " bytes beside the "
                        + registered
                        + " bytes that this event loop has registered"
                        + (isMemoryLimit
                                ? "; raise it with 'ulimit -l unlimited', LimitMEMLOCK=infinity in"
                                        + " the systemd unit or 'memlock' in"
                                        + " /etc/security/limits.conf, or lower"
                                        + " -Dorg.rpcrdma.registeredMemoryLimit"
                                : " (" + message + "); if that is ENOMEM, raise RLIMIT_MEMLOCK"),
                cause);
    }

    /** The limit of locked memory, for a message. */
    static String limit() {
        try (Stream<String> lines = Files.lines(LIMITS)) {
            return lines.filter(line -> line.startsWith("Max locked memory"))
                    .map(line -> line.substring("Max locked memory".length()))
                    .map(line -> new StringTokenizer(line).nextToken())
                    .map(soft -> "unlimited".equals(soft) ? soft : soft + " bytes")
                    .findFirst()
                    .orElse("unknown");
        } catch (IOException | RuntimeException e) {
            return "unknown";
        }
    }
}
