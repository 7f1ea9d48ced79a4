// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.util.function.Function;

/**
 * Turns the message of a failed call, {@code rdma_bind_addr failed: Address already in use}, into a sentence for users,
 * without the text up to the last {@code failed:}.
 */
public final class NativeErrorMessages {

    private static final String BEFORE_REASON = "failed: ";

    private NativeErrorMessages() {}

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

    /** The library's text of the errno. */
    public static String reason(IOException e) {
        String message = String.valueOf(e.getMessage());
        int at = message.lastIndexOf(BEFORE_REASON);
        return (at < 0 ? message : message.substring(at + BEFORE_REASON.length())).strip();
    }
}
