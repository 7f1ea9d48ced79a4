// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

/** The user of a {@link ByteTransport}. */
interface ByteTransportEventHandler {

    /** There may be bytes, or the end. Returns whether some were read. */
    boolean readAvailable();

    /** There may be room. */
    void writable();

    /** The carrier cannot go on. */
    void failed(Exception cause);
}
