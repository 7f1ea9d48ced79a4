// SPDX-License-Identifier: Apache-2.0
/**
 * What the commands of both ends share: a server that calls go to, and event loops that are waited for. What reads and
 * writes RPC is {@link org.rpcrdma.codec.rpc}.
 */
package org.rpcrdma.examples.common;
