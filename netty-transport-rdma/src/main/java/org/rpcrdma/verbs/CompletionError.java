// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/**
 * Causes of failed work requests, counted by a context ({@link EventLoopVerbsContext#value(CompletionError)}). Finer
 * than {@link WorkStatus}, on which connections act.
 */
public enum CompletionError {
    /** A message did not fit the memory given for it. */
    LOCAL_LENGTH,
    /** A local key or range is not valid. */
    LOCAL_PROTECTION,
    /** The peer refused the request as invalid, for example a message longer than its receive. */
    REMOTE_REQUEST,
    /** The peer refused access to its memory. */
    REMOTE_ACCESS,
    /** The peer could not carry the operation out. */
    REMOTE_OPERATION,
    /** The peer has not acknowledged after all retries of the device: peer or network has failed. */
    NO_ANSWER,
    /** The peer had no receive posted after all retries of the device. */
    NO_RECEIVE,
    /** Anything else that is wrong with the device or the connection. */
    OTHER
}
