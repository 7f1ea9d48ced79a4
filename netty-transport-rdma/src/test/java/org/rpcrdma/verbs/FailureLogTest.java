// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.netty.util.internal.logging.InternalLogger;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is to be done behind a warning is done, whatever becomes of the warning. */
class FailureLogTest {

    private final List<Object> logged = new ArrayList<>();

    private InternalLogger logger(Error failure) {
        return (InternalLogger)
                Proxy.newProxyInstance(
                        FailureLogTest.class.getClassLoader(),
                        new Class<?>[] {InternalLogger.class},
                        (proxy, method, arguments) -> {
                            logged.add(method.getName());
                            logged.addAll(List.of(arguments));
                            if (failure != null) {
                                throw failure;
                            }
                            return null;
                        });
    }

    @Test
    void aWarningIsLoggedWithItsCause() {
        Exception cause = new IllegalStateException("of the test");
        FailureLog.warn(logger(null), "A step failed", cause);
        assertThat(logged).containsExactly("warn", "A step failed", cause);
    }

    @Test
    void aLackOfMemoryInTheLogIsNotThrown() {
        assertThatCode(
                        () ->
                                FailureLog.warn(
                                        logger(new OutOfMemoryError("no heap")),
                                        "A step failed",
                                        new IllegalStateException("of the test")))
                .doesNotThrowAnyException();
        assertThat(logged).isNotEmpty();
    }
}
