// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import org.rpcrdma.codec.ReadChunkReplyConfig;
import org.rpcrdma.codec.ReadChunkReplyConfig.ReplyChunks;
import org.rpcrdma.codec.RpcRdmaConfig;

/** What {@code --reliable-replies} means: long replies are read by the client, and both ends are told so. */
public final class ReliableReplies {

    /** The longest results of a call: a directory of 100,000 files with all their attributes takes half of it. */
    public static final int RESULTS_MAX = 32 << 20;

    private static final int HEADER_MAX = 64 << 10;

    private ReliableReplies() {}

    /**
     * For either end. No memory of the client is exposed for replies, and no call has to say how long its reply gets.
     */
    public static RpcRdmaConfig.Builder enable(RpcRdmaConfig.Builder config) {
        return config.readChunkReplies(
                        ReadChunkReplyConfig.DEFAULT.withReplyChunks(ReplyChunks.NEVER))
                .maxChunkBytes(RESULTS_MAX + HEADER_MAX)
                .maxMessageBytes(RESULTS_MAX + HEADER_MAX);
    }
}
