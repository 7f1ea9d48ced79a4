// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/** The outcome of a work request. */
public enum WorkStatus {
    /** It was carried out. */
    SUCCESS,
    /** A message did not fit the memory given for it. */
    LOCAL_LENGTH_ERROR,
    /** A local key or range is not valid. */
    LOCAL_PROTECTION_ERROR,
    /** The peer refused access to its memory. */
    REMOTE_ACCESS_ERROR,
    /** The peer refused the operation. */
    REMOTE_OPERATION_ERROR,
    /** The connection ended before the work request was carried out. */
    FLUSHED
}
