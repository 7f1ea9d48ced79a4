// SPDX-License-Identifier: Apache-2.0
/**
 * The rsocket protocol of librdmacm, an ordered stream of bytes over a reliable connection: what stands in its messages
 * and tables, and the rules of both ends. Nothing here owns memory or posts work; the channel does.
 *
 * <p>Each end exposes a <em>target SGL</em>, a table of two entries of 16 bytes. Its peer writes into it, by RDMA
 * Write, where the peer's receive buffers are. Data is sent by RDMA Write into the buffer that the current entry names,
 * and a message of 32 bits says how many bytes that was. A buffer is filled to its last byte before the next entry is
 * used; an entry is written again only after that.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.stream;
