// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/**
 * Arguments or results do not follow the XDR of their procedure. There is one instance without a stack trace, because a
 * hostile peer can cause it as often as it likes.
 */
public final class MalformedMessageException extends Exception {

    private static final long serialVersionUID = 1L;

    /** The only instance. */
    @SuppressWarnings(
            "StaticAssignmentOfThrowable") // it has neither a stack trace nor suppressed ones
    public static final MalformedMessageException INSTANCE = new MalformedMessageException();

    private MalformedMessageException() {
        super("XDR ends too early or a value is out of its range", null, false, false);
    }
}
