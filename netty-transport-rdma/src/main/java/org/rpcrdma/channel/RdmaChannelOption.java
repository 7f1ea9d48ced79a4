// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOption;

/**
 * Options of {@link RdmaChannel}, of which {@link RdmaStreamChannel} takes {@link #RECEIVE_DEPTH}, {@link #SEND_DEPTH},
 * {@link #DRAIN_MILLIS} and {@link #KEEP_ALIVE_SECONDS}; for the children of a server channel set them as child
 * options.
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
     * How long an RDMA Read may be the oldest work that is under way without any progress before the connection ends,
     * in milliseconds, up to a quarter more. Progress is a byte of its answer where the device tells of it, as the
     * software RNIC does, and otherwise its end: there the limit has to leave time for the longest Read. From 0,
     * which is no limit; default 30000. May be changed at any time. Streams have no Reads.
     */
    public static final ChannelOption<Integer> READ_TIMEOUT_MILLIS =
            valueOf(RdmaChannelOption.class, "READ_TIMEOUT_MILLIS");

    /**
     * The most bytes of memory for what peers of one address have begun and not delivered, on all channels of the JVM:
     * RDMA Reads of their Read chunks, and messages of several segments in receives of 16 KiB and more. What is above
     * waits, or is refused, on the channels of that address alone, so that others find memory. From 1; default half
     * of what may be registered ({@link RdmaChannel#registeredBytesLimit}). Lower where strangers reach the port; all
     * of it where all peers have one address. May be changed at any time.
     */
    public static final ChannelOption<Long> INCOMPLETE_BYTES_PER_ADDRESS =
            valueOf(RdmaChannelOption.class, "INCOMPLETE_BYTES_PER_ADDRESS");

    /**
     * How long a closing channel waits for posted work before it cuts the connection, in milliseconds. Default 2000.
     */
    public static final ChannelOption<Integer> DRAIN_MILLIS =
            valueOf(RdmaChannelOption.class, "DRAIN_MILLIS");

    /**
     * With {@code SO_KEEPALIVE}, after how many seconds without traffic a peer is looked for, so that a connection
     * whose peer is gone ends although nothing is sent. A message channel has that on by default: 1 to 32767, default
     * 60; over TCP it knows 60 seconds later, and hardware after its retries. Raise it where each wake-up of a network
     * costs, lower it where a firewall forgets idle connections sooner. A stream shows its peer that it is there: from
     * 1, default 7200, if it is switched on. Fixed once it connects.
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
