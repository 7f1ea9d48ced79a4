// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Objects;
import org.rpcrdma.codec.internal.ArgumentChecks;

/** Options of flow control: credits, and the sizes of Sends. Base class of {@link RpcRdmaConfig.Builder}. */
abstract class FlowOptions<B extends FlowOptions<B>> {

    static final CreditPolicy CONSTANT_CREDITS = CreditPolicy.constant();

    int requestedCredits = 128;
    int grantedCredits = 64;
    int minimumCredits = 1;
    CreditPolicy creditPolicy = CONSTANT_CREDITS;
    int sendSize = 4096;
    int receiveSize = 4096;
    int longSize = 128 << 10;
    int inlineArguments = 68 << 10;
    int inlineResults = 52 << 10;
    boolean remoteInvalidation = true;
    PrivateData assumedPeer = PrivateData.DEFAULT;
    int maxQueuedCalls = 16384;

    FlowOptions() {}

    abstract B self();

    /**
     * Credits asked for as requester, 1 to 65535; default 128.
     *
     * @param credits 1 to 65535
     * @return this builder
     */
    public B requestedCredits(int credits) {
        requestedCredits = ArgumentChecks.inRange("requestedCredits", credits, 1, 65535);
        return self();
    }

    /**
     * Credits granted as responder, 1 to 65535; default 64. Each is backed by a receive.
     *
     * @param credits 1 to 65535
     * @return this builder
     */
    public B grantedCredits(int credits) {
        grantedCredits = ArgumentChecks.inRange("grantedCredits", credits, 1, 65535);
        return self();
    }

    /**
     * The least that the credit policy may grant, 1 to 65535; default 1.
     *
     * @param credits 1 to 65535
     * @return this builder
     */
    B minimumCredits(int credits) {
        minimumCredits = ArgumentChecks.inRange("minimumCredits", credits, 1, 65535);
        return self();
    }

    /**
     * How many credits are granted at a time, at most {@link #grantedCredits}; default
     * {@link CreditPolicy#constant()}, which is that many.
     *
     * @param policy asked on the event loop of each connection
     * @return this builder
     */
    public B creditPolicy(CreditPolicy policy) {
        creditPolicy = Objects.requireNonNull(policy, "policy");
        return self();
    }

    /**
     * The longest Send in bytes: a multiple of 1024, 1024 to 262144; default 4096.
     *
     * @param bytes a multiple of 1024, 1024 to 262144
     * @return this builder
     */
    public B sendSize(int bytes) {
        PrivateData.checkSize("sendSize", bytes);
        sendSize = bytes;
        return self();
    }

    /**
     * The size of each receive in bytes: a multiple of 1024, 1024 to 262144; default 4096. A Linux server may send
     * 4096 bytes whatever is announced.
     *
     * @param bytes a multiple of 1024, 1024 to 262144
     * @return this builder
     */
    public B receiveSize(int bytes) {
        PrivateData.checkSize("receiveSize", bytes);
        receiveSize = bytes;
        return self();
    }

    /**
     * The longest Send in bytes to and from a peer that announces a long size too, as another end of this project
     * does: a multiple of 1024, 1024 to 262144, or 0 for none; default 131072. The smaller one of both sides holds,
     * and other peers go by {@link #sendSize} and {@link #receiveSize} as ever. It holds for version 1, and where
     * the device takes the memory of a receive when its message comes, as the software RNIC does: elsewhere there
     * is none. So an idle connection pays nothing for it; a peer that fills all receives makes this side hold as
     * many long Sends. That is a quarter of {@link RpcRdmaConfig.Builder#maxConnectionBytes} at most, which comes on
     * top of it: the long size is smaller where there are too many receives, and never above
     * {@link RpcRdmaConfig.Builder#maxMessageBytes}.
     *
     * @param bytes a multiple of 1024, 1024 to 262144, or 0 for none
     * @return this builder
     */
    public B longSize(int bytes) {
        if (bytes != 0) {
            PrivateData.checkSize("longSize", bytes);
        }
        longSize = bytes;
        return self();
    }

    /**
     * Where there is a {@link #longSize}: the longest Send of a call that has no chunk for its arguments, in bytes,
     * 0 to 262144; default 69632, which is a WRITE of 64 KiB. A longer call goes by Read chunks, which cost a round
     * trip and spare a copy. Less than the usual threshold means that.
     *
     * @param bytes 0 to 262144
     * @return this builder
     */
    public B inlineArguments(int bytes) {
        inlineArguments = ArgumentChecks.inRange("inlineArguments", bytes, 0, 256 << 10);
        return self();
    }

    /**
     * Where there is a {@link #longSize}: the longest reply whose results are wanted without Write chunks, as one
     * Send in bytes, 0 to 262144; default 53248, which is a READ of 48 KiB. Results that may be longer get Write
     * chunks, which spare a copy. Less than the usual threshold means that.
     *
     * @param bytes 0 to 262144
     * @return this builder
     */
    public B inlineResults(int bytes) {
        inlineResults = ArgumentChecks.inRange("inlineResults", bytes, 0, 256 << 10);
        return self();
    }

    /**
     * Whether Send With Invalidate is announced, and so used where the peer announces it too (RFC 8797, 4.1);
     * default {@code true}.
     *
     * @param announce {@code false} to keep it from the peer
     * @return this builder
     */
    public B remoteInvalidation(boolean announce) {
        remoteInvalidation = announce;
        return self();
    }

    /**
     * What a peer is taken to have announced where the device carries no private data, as with DiSNI; default
     * {@link PrivateData#DEFAULT}, 1024 bytes both ways, which is what any peer takes. Elsewhere it means nothing.
     * Both ends have to be set alike: a Send that is longer than the receives of the peer costs the connection.
     *
     * @param data the sizes that the other end is configured with
     * @return this builder
     */
    public B assumedPeer(PrivateData data) {
        assumedPeer = Objects.requireNonNull(data, "data");
        return self();
    }

    /**
     * The most calls that wait for a credit; more fail with {@link CallQueueFullException}. Default 16384.
     *
     * @param calls from 0
     * @return this builder
     */
    public B maxQueuedCalls(int calls) {
        maxQueuedCalls = ArgumentChecks.inRange("maxQueuedCalls", calls, 0, Integer.MAX_VALUE);
        return self();
    }
}
