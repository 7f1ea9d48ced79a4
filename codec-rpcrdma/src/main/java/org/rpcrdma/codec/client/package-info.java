// SPDX-License-Identifier: Apache-2.0
/**
 * The requester's side above the pipeline: {@link org.rpcrdma.codec.client.RpcRdmaClient} makes connections, matches
 * replies with calls by their XIDs, and sends calls again; {@link org.rpcrdma.codec.client.RpcRdmaReverseRequester}
 * does so from a server, in the reverse direction (RFC 8167). The codec does not know this package.
 *
 * <p>Stable, but for finding a service ({@link org.rpcrdma.codec.client.ResponderLocator}), which is experimental.
 */
package org.rpcrdma.codec.client;
