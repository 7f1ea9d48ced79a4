// SPDX-License-Identifier: Apache-2.0
/**
 * The same RPC calls on several transports, in turns: each has a client and a server in processes of their own, all are
 * kept warm, and one pair runs while the others are stopped. So what the machine does meanwhile meets all of them, and
 * ratios within one round mean something where figures alone do not.
 */
package org.rpcrdma.benchmarks.compare;
