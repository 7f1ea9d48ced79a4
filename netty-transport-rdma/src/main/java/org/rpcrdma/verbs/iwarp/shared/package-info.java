// SPDX-License-Identifier: Apache-2.0
/**
 * Memory of one host that two ends of one user have mapped, as a wire: rings of bytes, the file they are in, and how
 * the two agree on it in the private data of their start-up frames. It knows no protocol.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.verbs.iwarp.shared;
