// SPDX-License-Identifier: Apache-2.0
/**
 * ONC RPC (RFC 5531) for programs that have no RPC library of their own: {@link org.rpcrdma.codec.rpc.RpcClient} calls
 * procedures over any {@link org.rpcrdma.codec.rpc.RpcTransport}, {@link org.rpcrdma.codec.rpc.RpcServerHandler} serves
 * programs, both with XDR and the headers of messages. The codec does not need them: it carries whole messages, whoever
 * has made them.
 *
 * <p>Stable.
 */
package org.rpcrdma.codec.rpc;
