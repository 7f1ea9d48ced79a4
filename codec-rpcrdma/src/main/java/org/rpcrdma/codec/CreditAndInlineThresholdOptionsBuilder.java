// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.codec.internal.ArgumentChecks;

/** Options of flow control: credits, and the sizes of Sends. Base class of {@link RpcRdmaConfig.Builder}. */
abstract class CreditAndInlineThresholdOptionsBuilder<
        B extends CreditAndInlineThresholdOptionsBuilder<B>> {

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

    CreditAndInlineThresholdOptionsBuilder() {}

    /** The values of all options, in an order that does not change; {@code null} for what is not set. */
    List<Object> values() {
        List<Object> values = new ArrayList<>();
        values.add(requestedCredits);
        values.add(grantedCredits);
        values.add(minimumCredits);
        values.add(creditPolicy);
        values.add(sendSize);
        values.add(receiveSize);
        values.add(longSize);
        values.add(inlineArguments);
        values.add(inlineResults);
        values.add(remoteInvalidation);
        values.add(assumedPeer);
        values.add(maxQueuedCalls);
        return values;
    }

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
     * Credits granted as responder, 1 to 65535; default 64. A posted receive backs each credit.
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
     * Decides the grant, at most {@link #grantedCredits}; default {@link CreditPolicy#constant()}, which grants the
     * maximum.
     *
     * @param policy called on the event loop of each connection
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
     * The size of each receive in bytes: a multiple of 1024, 1024 to 262144; default 4096. A Linux server may send 4096
     * bytes even if a smaller size is announced.
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
     * The longest Send in bytes to and from a peer of this project, which also announces a long size: a multiple of
     * 1024, 1024 to 262144, or 0 for none; default 131072. The smaller size of both sides applies; with other peers
     * {@link #sendSize} and {@link #receiveSize} apply. Requires version 1 and a device that allocates the memory of a
     * receive on arrival of its message, as the software RNIC does. So an idle connection needs no memory for it; a
     * peer that fills all receives makes this side hold as many long Sends, in addition to {@link
     * RpcRdmaConfig.Builder#maxConnectionBytes} but at most a quarter of it. With too many receives for that the long
     * size is reduced; it never exceeds {@link RpcRdmaConfig.Builder#maxMessageBytes}.
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
     * With a {@link #longSize}: the longest Send of a call without Read chunks for its arguments, in bytes, 0 to
     * 262144; default 69632, which fits a WRITE of 64 KiB. A longer call uses Read chunks, which cost a round trip and
     * save a copy. Values below the inline threshold mean that threshold.
     *
     * @param bytes 0 to 262144
     * @return this builder
     */
    public B inlineArguments(int bytes) {
        inlineArguments = ArgumentChecks.inRange("inlineArguments", bytes, 0, 256 << 10);
        return self();
    }

    /**
     * With a {@link #longSize}: the longest reply without Write chunks for its results, as one Send, in bytes, 0 to
     * 262144; default 53248, which fits a READ of 48 KiB. Results that may be longer get Write chunks, which save a
     * copy. Values below the inline threshold mean that threshold.
     *
     * @param bytes 0 to 262144
     * @return this builder
     */
    public B inlineResults(int bytes) {
        inlineResults = ArgumentChecks.inRange("inlineResults", bytes, 0, 256 << 10);
        return self();
    }

    /**
     * Whether to announce Send With Invalidate, which is used when both sides announce it (RFC 8797, 4.1); default
     * {@code true}.
     *
     * @param announce {@code false} not to announce it
     * @return this builder
     */
    public B remoteInvalidation(boolean announce) {
        remoteInvalidation = announce;
        return self();
    }

    /**
     * The private data assumed of the peer on a device that carries none, as with DiSNI; default {@link
     * PrivateData#DEFAULT}, 1024 bytes both ways, which any peer accepts. Has no effect on other devices. Set both ends
     * alike: a Send longer than the peer's receives ends the connection.
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
