// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.callers;

import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;

/** A program that makes calls, one way or another. Counted with the library, as it is written by a user of it. */
public interface Caller {

    /**
     * Makes a call.
     *
     * @param listener told of the number of bytes that were read
     */
    void call(GenericFutureListener<Future<Integer>> listener);
}
