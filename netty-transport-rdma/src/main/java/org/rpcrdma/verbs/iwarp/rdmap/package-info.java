// SPDX-License-Identifier: Apache-2.0
/**
 * RDMAP, RFC 5040: the operations of a stream, the queues they wait in, and the Terminate message.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.verbs.iwarp.rdmap;
