// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.util.function.Function;

/**
 * Turns what is said of a failed call, {@code rdma_bind_addr failed: Address already in use}, into a sentence for
 * users. What stands before the last {@code failed:} is of no use to them.
 */
public final class NativeError {

    private static final String BEFORE_REASON = "failed: ";

    private NativeError() {}

    /** A call of the library. */
    interface Call {
        void run() throws IOException;
    }

    /**
     * Makes a call.
     *
     * @param sentence makes the exception for a reason
     * @throws IOException that exception, caused by the one of the call
     */
    static void explain(Call call, Function<String, IOException> sentence) throws IOException {
        try {
            call.run();
        } catch (IOException e) {
            IOException clear = sentence.apply(reason(e));
            clear.initCause(e);
            throw clear;
        }
    }

    /** The text of the errno, as the library says it. */
    public static String reason(IOException e) {
        String message = String.valueOf(e.getMessage());
        int at = message.lastIndexOf(BEFORE_REASON);
        return (at < 0 ? message : message.substring(at + BEFORE_REASON.length())).strip();
    }
}
