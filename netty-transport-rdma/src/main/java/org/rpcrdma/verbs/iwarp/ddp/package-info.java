// SPDX-License-Identifier: Apache-2.0
/**
 * DDP, RFC 5041: segments, tagged and untagged, and the buffer models they are placed into.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.verbs.iwarp.ddp;
