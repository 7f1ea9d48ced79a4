// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

/**
 * An error that ends a stream, as a Terminate message names it (RFC 5040, 4.8). Each layer lists its own.
 */
public interface StreamError {

    /** Layer: RDMAP. */
    int LAYER_RDMAP = 0;

    /** Layer: DDP. */
    int LAYER_DDP = 1;

    /** Layer: LLP, which is MPA here. */
    int LAYER_LLP = 2;

    /** The layer that found the error, 4 bits. */
    int layer();

    /** The error type, 4 bits, its meaning depends on the layer. */
    int type();

    /** The error code, 8 bits, its meaning depends on layer and type. */
    int code();
}
