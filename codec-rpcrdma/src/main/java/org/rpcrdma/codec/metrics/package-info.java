// SPDX-License-Identifier: Apache-2.0
/**
 * Meters of the codec for Micrometer; needs {@code io.micrometer:micrometer-core} on the class path.
 *
 * <p>Stable, the names of the meters too.
 */
package org.rpcrdma.codec.metrics;
