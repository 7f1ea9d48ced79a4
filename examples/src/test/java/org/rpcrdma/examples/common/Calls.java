// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import org.rpcrdma.codec.rpc.RpcFuture;

/** Waits for results, reads and releases them. */
public final class Calls {

    /** Reads results. */
    public interface Decoder<T> {
        T decode(ByteBuf results) throws IOException;
    }

    private Calls() {}

    public static <T> T await(RpcFuture<ByteBuf> call, Decoder<T> decoder) throws IOException {
        ByteBuf results = call.join();
        try {
            return decoder.decode(results);
        } finally {
            results.release();
        }
    }
}
