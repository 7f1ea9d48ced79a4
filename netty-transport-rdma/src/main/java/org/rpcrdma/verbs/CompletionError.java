// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/**
 * Reasons for which work requests have failed, as a context counts them, see {@link
 * VerbsContext#value(CompletionError)}. Finer than {@link WorkStatus}, which is what a connection has to know.
 */
public enum CompletionError {
    /** A message did not fit the memory given for it. */
    LOCAL_LENGTH,
    /** A local key or range is not valid. */
    LOCAL_PROTECTION,
    /** The peer refused the request as one that it does not take; a message longer than its receive among them. */
    REMOTE_REQUEST,
    /** The peer refused access to its memory. */
    REMOTE_ACCESS,
    /** The peer could not carry the operation out. */
    REMOTE_OPERATION,
    /** The peer has not answered after all retries of the device: it, or the network, is gone. */
    NO_ANSWER,
    /** The peer had no receive posted after all retries of the device. */
    NO_RECEIVE,
    /** Anything else that is wrong with the device or the connection. */
    OTHER
}
