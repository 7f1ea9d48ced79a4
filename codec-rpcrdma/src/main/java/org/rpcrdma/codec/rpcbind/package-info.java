// SPDX-License-Identifier: Apache-2.0
/**
 * Registers and finds RPC services by rpcbind (RFC 1833), with the netids of RPC-over-RDMA (RFC 8166, 9).
 *
 * <p>Experimental.
 */
@Experimental
package org.rpcrdma.codec.rpcbind;

import org.rpcrdma.Experimental;
