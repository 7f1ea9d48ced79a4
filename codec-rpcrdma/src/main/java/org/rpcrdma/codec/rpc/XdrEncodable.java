// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

/** Arguments or results that write themselves in XDR (RFC 4506). */
@FunctionalInterface
public interface XdrEncodable {

    /** Nothing: the arguments or the results of a procedure that has none. */
    XdrEncodable VOID = out -> {};

    /**
     * Appends the data.
     *
     * @param out of the message; not to be used after this method has returned
     */
    void writeTo(XdrWriter out);
}
