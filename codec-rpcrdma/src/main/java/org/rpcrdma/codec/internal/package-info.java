// SPDX-License-Identifier: Apache-2.0
/**
 * Helpers that know no connection and no other package of this library: maps and pools without allocation, checks of
 * arguments, rate limits of logs, events of the flight recorder.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.codec.internal;
