// SPDX-License-Identifier: Apache-2.0
/** A server that calls its clients back (RFC 8167): leases, and their recall. */
package org.rpcrdma.examples.leases;
