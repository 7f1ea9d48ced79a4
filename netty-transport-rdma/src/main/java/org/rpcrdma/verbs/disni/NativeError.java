// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import java.io.IOException;
import java.util.function.Function;

/** Turns what {@code libdisni} says of a failed call, the names of two functions and an errno, into a sentence for users. */
final class NativeError {

    private static final String BEFORE_REASON = "failed: ";

    private NativeError() {}

    /** A call of DiSNI. */
    interface Call {
        void run() throws IOException;
    }

    /**
     * Makes a call.
     *
     * @param sentence makes the exception for a reason
     * @throws IOException that exception, caused by the one of DiSNI
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

    /** The text of the errno, in the language of the system. */
    static String reason(IOException e) {
        String message = String.valueOf(e.getMessage());
        int at = message.lastIndexOf(BEFORE_REASON);
        return (at < 0 ? message : message.substring(at + BEFORE_REASON.length())).strip();
    }
}
