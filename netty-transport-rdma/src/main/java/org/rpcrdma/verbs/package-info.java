// SPDX-License-Identifier: Apache-2.0
/**
 * The verbs SPI: what an RDMA device can do, in primitives, for one thread.
 *
 * <p>Everything of one {@link org.rpcrdma.verbs.EventLoopVerbsContext} happens on the thread that polls it; only {@link
 * org.rpcrdma.verbs.EventLoopVerbsContext#wakeup()} and the hand-over of a {@link org.rpcrdma.verbs.ConnectionRequest}
 * may come from another one. Providers are found with {@link java.util.ServiceLoader}.
 *
 * <p>Experimental: an SPI that providers are written for, and that grows with them.
 */
@Experimental
package org.rpcrdma.verbs;

import org.rpcrdma.Experimental;
