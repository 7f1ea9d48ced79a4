// SPDX-License-Identifier: Apache-2.0
/**
 * RPC-over-RDMA version 1 (RFC 8166) for both roles, as handlers above {@link org.rpcrdma.channel.RdmaChannel}. {@link
 * org.rpcrdma.codec.RpcRdmaCodec} adds them to a pipeline; the handlers after them see whole RPC messages.
 *
 * <p>Terms beyond those of RFC 8166, in this package and in the documents:
 *
 * <ul>
 *   <li><b>item</b>: an XDR data item, here one that is DDP-eligible and can be reduced into a chunk (RFC 8166, 3.4).
 *   <li><b>sink</b>: requester's memory behind a Write chunk, which receives one result.
 *   <li><b>pull</b>: transfer of all Read chunks of a message by RDMA Reads of its receiver.
 *   <li><b>pull completion</b>: message by which a requester releases the Read chunks of a reply (RDMA_DONE;
 *       draft-cel-nfsv4-rpcrdma-reliable-reply-04, 4.1.2).
 *   <li><b>whole</b>: of a message, with all items merged into its payload stream.
 *   <li><b>stage</b>: a handler of the codec, see {@link org.rpcrdma.codec.RpcRdmaCodec}.
 * </ul>
 *
 * <p>Stable, but for version 2 ({@link org.rpcrdma.codec.VersionTwoConfig}, {@link
 * org.rpcrdma.codec.OptionalOperationMessage}), which is experimental because its document is.
 */
package org.rpcrdma.codec;
