// SPDX-License-Identifier: Apache-2.0
/**
 * Registered memory of an event loop: slabs, size classes, free lists, and the buffers that are lent from them. Knows
 * no channel.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.channel.memory;
