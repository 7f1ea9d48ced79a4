// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOption;

/**
 * Options of {@link RdmaChannel}, of which {@link RdmaStreamChannel} takes {@link #RECEIVE_DEPTH}, {@link #SEND_DEPTH}
 * and {@link #DRAIN_MILLIS}; for the children of a server channel set them as child options.
 *
 * @param <T> the type of the value
 */
public final class RdmaChannelOption<T> extends ChannelOption<T> {

    /**
     * The size of each posted receive in bytes, and so the longest message that the peer may send. From 1024; default
     * 4096. Fixed once the channel
     * is bound or connects; a child may change it in its {@code initChannel}.
     */
    public static final ChannelOption<Integer> RECEIVE_SIZE =
            valueOf(RdmaChannelOption.class, "RECEIVE_SIZE");

    /**
     * The number of receives kept posted. From 1; default 80. Fixed once it connects. Of a stream: the messages about
     * data that the peer may have under way; from 16 to 32768, default 256.
     */
    public static final ChannelOption<Integer> RECEIVE_DEPTH =
            valueOf(RdmaChannelOption.class, "RECEIVE_DEPTH");

    /**
     * The most work requests posted and not complete. From 1, of a stream from 32; default 256. Fixed once it connects.
     */
    public static final ChannelOption<Integer> SEND_DEPTH =
            valueOf(RdmaChannelOption.class, "SEND_DEPTH");

    /**
     * The longest Send in bytes; a longer one fails with {@link MessageTooLongException} and the channel stays open.
     * Default: this end's {@link #RECEIVE_SIZE}, because peers are mostly configured alike. May be changed at any time:
     * the RPC-over-RDMA codec sets it to what the peer has announced.
     */
    public static final ChannelOption<Integer> MAX_SEND_SIZE =
            valueOf(RdmaChannelOption.class, "MAX_SEND_SIZE");

    /**
     * Connection private data sent with the connect request or with its answer. Default: none. Fixed once the
     * channel connects.
     */
    public static final ChannelOption<byte[]> PRIVATE_DATA =
            valueOf(RdmaChannelOption.class, "PRIVATE_DATA");

    /**
     * What the peer is taken to have sent as connection private data where the device cannot carry any, as with DiSNI;
     * ignored elsewhere. Default: nothing. Both ends have to agree: one that is told of a larger receive than the other
     * has loses the connection. Fixed once the channel is connected.
     */
    public static final ChannelOption<byte[]> PEER_PRIVATE_DATA =
            valueOf(RdmaChannelOption.class, "PEER_PRIVATE_DATA");

    /** The most RDMA Reads outstanding in each direction (IRD and ORD). 1 to 128; default 128. */
    public static final ChannelOption<Integer> READ_DEPTH =
            valueOf(RdmaChannelOption.class, "READ_DEPTH");

    /**
     * How long a closing channel waits for posted work before it cuts the connection, in milliseconds. Default 2000.
     */
    public static final ChannelOption<Integer> DRAIN_MILLIS =
            valueOf(RdmaChannelOption.class, "DRAIN_MILLIS");

    /**
     * With {@code SO_KEEPALIVE}, after how many seconds a stream shows its peer that it is there. From 1; default 7200.
     * Fixed once it connects.
     */
    public static final ChannelOption<Integer> KEEP_ALIVE_SECONDS =
            valueOf(RdmaChannelOption.class, "KEEP_ALIVE_SECONDS");

    /** What the handles that peers are given stand for. Default {@link RegistrationPolicy#EXACT}. */
    public static final ChannelOption<RegistrationPolicy> REGISTRATION =
            valueOf(RdmaChannelOption.class, "REGISTRATION");

    @SuppressWarnings({"deprecation", "unused"})
    private RdmaChannelOption() {
        super(null);
    }
}
