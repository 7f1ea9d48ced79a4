// SPDX-License-Identifier: Apache-2.0
/**
 * Long runs with faults: clients and servers in one process, with TCP relays between them that delay, stall, cut and
 * partition; and honest clients beside a crowd of connections that stay half done.
 */
package org.rpcrdma.benchmarks.soak;
