// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

/**
 * Decides whether a caller is believed (RFC 5531, 8.2), before the program sees the call. One is used for all
 * connections: thread-safe.
 */
@FunctionalInterface
public interface RpcServerAuthenticator {

    /** Value of {@link #authenticate} for a caller who is believed. */
    int AUTH_OK = 0;

    /** The credential is malformed. */
    int AUTH_BADCRED = 1;

    /** The client must begin a new session, or the flavor is not accepted. */
    int AUTH_REJECTEDCRED = 2;

    /** The verifier is malformed. */
    int AUTH_BADVERF = 3;

    /** The flavor is too weak for the procedure. */
    int AUTH_TOOWEAK = 5;

    /**
     * Believes callers with a well-formed credential of AUTH_NONE or AUTH_SYS, which proves nothing, and refuses all
     * others.
     */
    RpcServerAuthenticator NONE_OR_SYS = RpcServerCall::checkUnprovenCredential;

    /**
     * Checks credential and verifier of a call. Runs on the event loop: do not block.
     *
     * @param call not to be answered
     * @return {@link #AUTH_OK}, or the {@code auth_stat} to refuse the call with (RFC 5531, 9)
     */
    int authenticate(RpcServerCall call);
}
