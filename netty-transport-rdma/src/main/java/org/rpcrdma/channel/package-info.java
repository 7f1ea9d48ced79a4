// SPDX-License-Identifier: Apache-2.0
/**
 * The Netty transport: {@link org.rpcrdma.channel.RdmaEventLoopGroup}, {@link org.rpcrdma.channel.RdmaChannel} and
 * {@link org.rpcrdma.channel.RdmaServerChannel} take the place of their NIO namesakes.
 *
 * <p>Stable, but for streams of bytes ({@link org.rpcrdma.channel.RdmaStreamChannel}), which are experimental.
 */
package org.rpcrdma.channel;
