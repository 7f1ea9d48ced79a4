// SPDX-License-Identifier: Apache-2.0
/**
 * What is said of all packages: whether their API is to be relied on.
 *
 * <p>Stable.
 */
package org.rpcrdma;
