// SPDX-License-Identifier: Apache-2.0
/** ONC RPC (RFC 5531) on Netty: what a client needs, and the handlers that client and server share. */
package org.rpcrdma.examples.rpc;
