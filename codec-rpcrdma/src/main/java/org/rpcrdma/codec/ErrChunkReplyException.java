// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * The responder answered ERR_CHUNK (RFC 8166, 4.5.2 and 4.5.3): it could not use the chunks of the call, the reply did
 * not fit what the call offered, or it had no memory at that moment. A requester cannot tell these apart. An {@link
 * org.rpcrdma.codec.client.RpcRdmaClient} has already repeated the call where that is safe, with more memory or once
 * unchanged.
 */
public final class ErrChunkReplyException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    private final int inline;
    private final long writeBytes;
    private final long replyBytes;
    private final long missing;
    private final boolean mayGrow;
    private final boolean coversReply;

    ErrChunkReplyException(
            int inline,
            long writeBytes,
            long replyBytes,
            long possible,
            boolean mayGrow,
            boolean coversReply) {
        super(
                "the responder answered ERR_CHUNK: the call has a chunk that it does not take, it"
                        + " had no memory at that moment, or the reply does not fit the "
                        + inline
                        + " bytes offered inline, the "
                        + writeBytes
                        + " in Write chunks and the "
                        + replyBytes
                        + " in the Reply chunk"
                        + missing(inline, writeBytes, replyBytes, possible)
                        + (coversReply
                                ? " (the upper-layer binding says that no reply is longer: look at"
                                        + " the log of the responder)"
                                : " (if it may be longer: raise the binding's limit, maximumReply"
                                        + " or defaultMaximumReply)"));
        this.inline = inline;
        this.writeBytes = writeBytes;
        this.replyBytes = replyBytes;
        this.mayGrow = mayGrow;
        this.coversReply = coversReply;
        missing = Math.max(0, possible - offered());
    }

    private static String missing(int inline, long writeBytes, long replyBytes, long possible) {
        long bytes = possible - Math.max(inline, replyBytes) - writeBytes;
        return bytes > 0 ? ", " + bytes + " less than the upper-layer binding has for it" : "";
    }

    /** {@return the longest reply that fits the offer: Write chunks, and inline or the Reply chunk} */
    public long offered() {
        return writeBytes + Math.max(inline, replyBytes);
    }

    /** Whether the call could be repeated with more memory for its reply. */
    boolean mayGrow() {
        return mayGrow;
    }

    /** Whether the offer covers the longest reply, so that the responder may have lacked memory. */
    boolean coversReply() {
        return coversReply;
    }

    /** {@return the bytes of one Send from the responder} */
    public int inline() {
        return inline;
    }

    /** {@return the bytes of all Write chunks} */
    public long writeBytes() {
        return writeBytes;
    }

    /** {@return the bytes of the Reply chunk; 0 when there was none} */
    public long replyBytes() {
        return replyBytes;
    }

    /**
     * The shortfall of the offer.
     *
     * @return bytes by which the offer was below the bound of the upper-layer binding; 0 if unknown
     */
    public long missing() {
        return missing;
    }
}
