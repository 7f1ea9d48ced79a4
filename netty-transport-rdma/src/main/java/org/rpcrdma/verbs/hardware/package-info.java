// SPDX-License-Identifier: Apache-2.0
/**
 * What providers for RDMA hardware have in common, whatever library they call it by: queues of work requests, the
 * states of a connection, memory that is registered and exposed, the way to the end. A library stands behind {@link
 * org.rpcrdma.verbs.hardware.NativeEventLoopDevice} and its three companions, all else is told to it.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.verbs.hardware;
