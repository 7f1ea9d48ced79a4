// SPDX-License-Identifier: Apache-2.0
/**
 * RDMA as the I/O of Netty 4.2's event loops: {@link org.rpcrdma.channel.io.RdmaIoHandler} takes the place of {@link
 * io.netty.channel.nio.NioIoHandler}, for the channels of {@code org.rpcrdma.channel}.
 *
 * <p>Stable.
 */
package org.rpcrdma.channel.io;
