// SPDX-License-Identifier: Apache-2.0
/**
 * RPC-over-RDMA version 1 (RFC 8166) for both roles, as handlers above {@link org.rpcrdma.channel.RdmaChannel}. {@link
 * org.rpcrdma.codec.RpcRdmaCodec} puts them into a pipeline; the handler above it sees whole RPC messages.
 *
 * <p>Stable, but for version 2 ({@link org.rpcrdma.codec.VersionTwo}, {@link org.rpcrdma.codec.RpcRdmaOption}),
 * which is experimental because its document is.
 */
package org.rpcrdma.codec;
