// SPDX-License-Identifier: Apache-2.0
/**
 * JMH benchmarks: {@link org.rpcrdma.channel.RdmaChannel} beside Netty's TCP transports with record marking, with the
 * same RPC handlers.
 */
package org.rpcrdma.benchmarks;
