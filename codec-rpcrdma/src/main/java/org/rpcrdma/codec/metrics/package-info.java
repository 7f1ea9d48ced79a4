// SPDX-License-Identifier: Apache-2.0
/** Counters of the codec for Micrometer; needs {@code io.micrometer:micrometer-core} on the class path. */
package org.rpcrdma.codec.metrics;
