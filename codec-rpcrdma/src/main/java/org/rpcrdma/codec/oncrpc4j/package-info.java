// SPDX-License-Identifier: Apache-2.0
/**
 * Programs written for oncrpc4j, on RPC-over-RDMA. Needs {@code org.dcache:oncrpc4j-core} on the class path, which is
 * under the LGPL and is neither part of this library nor brought along by it; nothing outside of this package uses it.
 *
 * <p>Experimental.
 */
@Experimental
package org.rpcrdma.codec.oncrpc4j;

import org.rpcrdma.Experimental;
