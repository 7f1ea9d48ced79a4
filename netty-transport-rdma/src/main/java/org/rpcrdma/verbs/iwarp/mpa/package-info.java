// SPDX-License-Identifier: Apache-2.0
/**
 * MPA, RFC 5044 and RFC 6581: the start-up frames and the framing of ULPDUs in a TCP stream. Knows nothing of what is
 * in an ULPDU.
 *
 * <p>Internal, but for {@link org.rpcrdma.verbs.iwarp.mpa.CrcPolicy} and {@link org.rpcrdma.verbs.iwarp.mpa.Rtr}, which
 * are experimental.
 */
package org.rpcrdma.verbs.iwarp.mpa;
