// SPDX-License-Identifier: Apache-2.0
/**
 * The memory of one context: registered regions with local keys, and ranges exposed to a peer under an STag. Local
 * keys and STags are two name spaces; a peer can never use a local key.
 *
 * <p>Internal: it may change with any release.
 */
package org.rpcrdma.verbs.iwarp.memory;
