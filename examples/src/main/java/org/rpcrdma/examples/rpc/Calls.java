// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.io.InterruptedIOException;

/** What a thread that waits does with the results of a call. */
public final class Calls {

    /** Reads results. */
    public interface Decoder<T> {
        T decode(ByteBuf results) throws IOException;
    }

    private Calls() {}

    /**
     * Waits for a call, reads its results and releases them.
     *
     * @throws IOException why the call failed, or that its results make no sense
     */
    public static <T> T await(Future<ByteBuf> call, Decoder<T> decoder) throws IOException {
        ByteBuf results = await(call);
        try {
            return decoder.decode(results);
        } catch (IndexOutOfBoundsException e) {
            throw new RpcException("the server's results end too early", e);
        } finally {
            results.release();
        }
    }

    private static ByteBuf await(Future<ByteBuf> call) throws IOException {
        try {
            Waits.end(call);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            abandon(call);
            throw new InterruptedIOException("interrupted");
        } catch (RpcException e) {
            abandon(call);
            throw e;
        }
        if (call.isSuccess()) {
            return call.getNow();
        }
        Throwable cause = call.cause();
        throw cause instanceof IOException e ? e : new RpcException(cause.toString(), cause);
    }

    private static void abandon(Future<ByteBuf> call) {
        call.addListener(
                (Future<ByteBuf> late) -> {
                    if (late.isSuccess()) {
                        late.getNow().release();
                    }
                });
    }
}
