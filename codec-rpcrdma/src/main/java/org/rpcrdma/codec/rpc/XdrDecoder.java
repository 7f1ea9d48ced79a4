// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import java.io.IOException;

/**
 * Decodes one value, such as the arguments or results of a procedure, by an {@link XdrReader} (RFC 4506).
 *
 * @param <T> what they become
 */
@FunctionalInterface
public interface XdrDecoder<T> {

    /** Reads nothing: the results of a procedure that has none. Data that are there all the same are ignored. */
    XdrDecoder<Void> VOID = in -> null;

    /**
     * Reads the data.
     *
     * @param in of the message; not to be used after this method has returned
     * @return the value; may be {@code null}
     * @throws MalformedXdrException if the data are truncated, too long or undefined
     * @throws IOException if the data say that the procedure has failed, such as by a status of the program
     */
    T read(XdrReader in) throws IOException;
}
