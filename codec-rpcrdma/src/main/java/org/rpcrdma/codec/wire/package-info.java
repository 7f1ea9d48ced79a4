// SPDX-License-Identifier: Apache-2.0
/**
 * The bytes of RPC-over-RDMA: transport headers with their lists, errors, where Read chunks go in a message, and as
 * much of an RPC header as a transport has to see. Nothing here knows a connection, a role or a channel.
 *
 * <p>Internal: it may change with any release. What users need is in {@link org.rpcrdma.codec}.
 */
package org.rpcrdma.codec.wire;
