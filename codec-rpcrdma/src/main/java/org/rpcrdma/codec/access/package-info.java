// SPDX-License-Identifier: Apache-2.0
/**
 * What packages of this library need of each other, and users do not: each class here stands before what is
 * package-private in another package.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.codec.access;
