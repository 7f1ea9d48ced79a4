// SPDX-License-Identifier: Apache-2.0
/**
 * What other modules of this library need of channels and event loops, and users do not. Exported to those modules
 * alone.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.channel.internal;
