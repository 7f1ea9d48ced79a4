// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

/** A procedure of an {@link RpcProgram} (RFC 5531, 8.3). */
@FunctionalInterface
public interface RpcProcedureHandler {

    /**
     * Executes a call. Runs on the executor of the program, or on the event loop: do not block there.
     *
     * @param call to be answered once, by one of its {@code reply} and {@code refuse} methods, now or later, on any
     *     thread
     * @throws MalformedXdrException if the arguments cannot be read: the call is answered with GARBAGE_ARGS, as with an
     *     {@link IndexOutOfBoundsException}
     * @throws Exception for another failure, an {@link Error} included: the call is answered with SYSTEM_ERR, and the
     *     failure is logged
     */
    void execute(RpcServerCall call) throws Exception;
}
