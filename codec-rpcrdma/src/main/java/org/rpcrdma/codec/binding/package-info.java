// SPDX-License-Identifier: Apache-2.0
/**
 * Upper-layer bindings (RFC 8166, 6): which arguments and results of an RPC program may be placed directly, and how
 * large its replies can be. NFS versions 2, 3 and 4 with its callbacks, NFSACL (RFC 8267), MOUNT and NLM are built in;
 * others are found with {@link java.util.ServiceLoader}.
 *
 * <p>Stable.
 */
package org.rpcrdma.codec.binding;
