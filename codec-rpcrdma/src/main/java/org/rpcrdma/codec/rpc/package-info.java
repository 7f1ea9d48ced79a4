// SPDX-License-Identifier: Apache-2.0
/**
 * The headers of ONC RPC messages (RFC 5531) for programs that have no RPC library of their own. The transport does not
 * need them: it carries whole messages, whoever has made them.
 *
 * <p>Stable.
 */
package org.rpcrdma.codec.rpc;
