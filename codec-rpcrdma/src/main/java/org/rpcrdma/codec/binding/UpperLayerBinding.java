// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/**
 * The upper-layer binding of an RPC program (RFC 8166, 6). A program without one is carried whole: none of its
 * arguments and results is DDP-eligible.
 *
 * <p>Implementations are found with {@link java.util.ServiceLoader} or given to the configuration. They hold no state
 * and are called by any number of event loops at once. Arguments and results come from a peer: use the checked steps of
 * the cursor and nothing else.
 *
 * <p>What is thrown beside {@link MalformedMessageException}, an {@link Error} included, fails the one call: a
 * requester's future with {@code MarshalException} or {@code UnmarshalException}, a responder's call with SYSTEM_ERR
 * (RFC 5531, 9).
 */
public interface UpperLayerBinding {

    /** {@return the RPC program number, unsigned} */
    int program();

    /**
     * Whether this binding is for that version of the program.
     *
     * @param version of the program, unsigned
     * @return whether; false leaves the version to other bindings
     */
    boolean covers(int version);

    /**
     * Name of a procedure for metrics, such as {@code NFSv3.READ}.
     *
     * @param version of the program, unsigned
     * @param procedure of that version, unsigned
     * @return a constant, one of a small number; {@code null} for procedures that there are not, and unless overridden
     */
    default String procedureName(int version, int procedure) {
        return null;
    }

    /**
     * Whether a call is idempotent, so that it may be repeated with larger chunks when its reply did not fit (RFC 8166,
     * 4.5.3). Not asked for calls whose arguments RPCSEC_GSS has wrapped.
     *
     * @param version of the program, unsigned
     * @param procedure of that version, unsigned
     * @param arguments at the first argument
     * @return {@code false} unless it is certain
     * @throws MalformedMessageException if the bytes are no such message; the peer's mistake
     */
    default boolean isIdempotent(int version, int procedure, XdrCursor arguments)
            throws MalformedMessageException {
        return false;
    }

    /**
     * The most Write chunks, and the most Read chunks beside one at position zero, that a call to a responder of
     * unknown limits should have. Items beyond that stay in the payload stream.
     *
     * @return from 1; any number unless overridden
     */
    default int chunksPerCall() {
        return Integer.MAX_VALUE;
    }

    /**
     * Walks the arguments as far as the last DDP-eligible one and passes over each of those with {@link
     * XdrCursor#eligibleOpaque}. Does nothing when the procedure has none.
     *
     * @param version of the program, unsigned
     * @param procedure of that version, unsigned
     * @param in at the first argument
     * @throws MalformedMessageException if the bytes are no such message; the peer's mistake
     */
    void walkArguments(int version, int procedure, XdrCursor in) throws MalformedMessageException;

    /**
     * Walks the results of a successful call as far as the last DDP-eligible one and passes over each of those with
     * {@link XdrCursor#eligibleOpaque}. Does nothing when the procedure has none.
     *
     * @param version of the program, unsigned
     * @param procedure of that version, unsigned
     * @param in at the first result, after the accept status
     * @throws MalformedMessageException if the bytes are no such message; the peer's mistake
     */
    void walkResults(int version, int procedure, XdrCursor in) throws MalformedMessageException;

    /**
     * Sets the limits of the results. Do not change {@code limits} if they are unknown, and call {@link
     * ReplyLimits#unbounded} when a part has no bound; then the configured default is added.
     *
     * @param version of the program, unsigned
     * @param procedure of that version, unsigned
     * @param arguments at the first argument
     * @param limits receives the known limits
     * @throws MalformedMessageException if the bytes are no such message; the peer's mistake
     */
    void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits)
            throws MalformedMessageException;
}
