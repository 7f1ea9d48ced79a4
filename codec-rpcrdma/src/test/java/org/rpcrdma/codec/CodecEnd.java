// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * What the codec of one end of a test's connections is built of.
 *
 * @param config of the end
 * @param metrics that its connections are counted in
 * @param duplicates cache of replies; {@code null} for none
 */
record CodecEnd(RpcRdmaConfig config, RpcRdmaMetrics metrics, DuplicateRequestCache duplicates) {

    static CodecEnd of(RpcRdmaConfig config) {
        return of(config, new RpcRdmaMetrics());
    }

    static CodecEnd of(RpcRdmaConfig config, RpcRdmaMetrics metrics) {
        return new CodecEnd(config, metrics, null);
    }

    static CodecEnd of(RpcRdmaConfig config, DuplicateRequestCache duplicates) {
        return new CodecEnd(config, new RpcRdmaMetrics(), duplicates);
    }

    RpcRdmaCodec codec() {
        return duplicates == null
                ? new RpcRdmaCodec(config, metrics)
                : new RpcRdmaCodec(config, metrics, duplicates);
    }
}
