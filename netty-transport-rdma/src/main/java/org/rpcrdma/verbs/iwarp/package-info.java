// SPDX-License-Identifier: Apache-2.0
/**
 * A software RNIC: iWARP (RFC 5040, 5041, 5044, 6581) over TCP sockets of {@code java.nio}.
 *
 * <p>The layers are packages, each of which uses only those below it: {@code rdmap}, {@code ddp}, {@code mpa};
 * {@code memory} holds what DDP places into. This package puts them together behind the verbs SPI.
 *
 * <p>Experimental, as the SPI is.
 */
@Experimental
package org.rpcrdma.verbs.iwarp;

import org.rpcrdma.Experimental;
