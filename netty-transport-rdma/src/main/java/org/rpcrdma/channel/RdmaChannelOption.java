// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOption;
import org.rpcrdma.channel.admission.AdmissionPolicy;

/**
 * Options of {@link RdmaChannel}, and of the server channels: {@link #ADMISSION_POLICY}, {@link
 * #ADMISSION_TIMEOUT_MILLIS} and {@link #MAX_UNDECIDED_REQUESTS}. {@link RdmaStreamChannel} supports {@link
 * #RECEIVE_DEPTH}, {@link #SEND_DEPTH}, {@link #DRAIN_MILLIS} and {@link #KEEP_ALIVE_SECONDS}; set those of accepted
 * channels as child options.
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
     * The number of receives kept posted. From 1; default 80. Fixed once the channel connects. For a stream: the DATA
     * messages that the peer may have in flight, 16 to 32768, default 256.
     */
    public static final ChannelOption<Integer> RECEIVE_DEPTH =
            valueOf(RdmaChannelOption.class, "RECEIVE_DEPTH");

    /**
     * The most work requests posted and not complete. From 1, for a stream from 32; default 256. Fixed once the channel
     * connects.
     */
    public static final ChannelOption<Integer> SEND_DEPTH =
            valueOf(RdmaChannelOption.class, "SEND_DEPTH");

    /**
     * The longest Send in bytes; a longer one fails with {@link MessageTooLongException} and the channel stays open.
     * Default: this end's {@link #RECEIVE_SIZE}, because peers are mostly configured alike. May be changed at any time:
     * the RPC-over-RDMA codec sets it to the size that the peer has announced.
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
     * The connection private data assumed of the peer on a device that carries none, as DiSNI; ignored on other
     * devices. Default: empty. Configure both ends consistently: a Send longer than the peer's actual receive ends the
     * connection. Fixed once the channel is connected.
     */
    public static final ChannelOption<byte[]> PEER_PRIVATE_DATA =
            valueOf(RdmaChannelOption.class, "PEER_PRIVATE_DATA");

    /** The most RDMA Reads outstanding in each direction (IRD and ORD). 1 to 128; default 128. */
    public static final ChannelOption<Integer> READ_DEPTH =
            valueOf(RdmaChannelOption.class, "READ_DEPTH");

    /**
     * Time-out of an RDMA Read that is the oldest work in flight and makes no progress, in milliseconds; the connection
     * ends after at most a quarter more. Progress is each byte of the response if the device reports it, as the
     * software RNIC does, otherwise only completion: then allow for the longest Read. 0 for no limit; default 30000.
     * May be changed at any time. Streams have no Reads.
     */
    public static final ChannelOption<Integer> READ_TIMEOUT_MILLIS =
            valueOf(RdmaChannelOption.class, "READ_TIMEOUT_MILLIS");

    /**
     * The most bytes of memory for data that peers of one address have announced but not delivered, over all channels
     * of the JVM: RDMA Reads of their Read chunks, and messages of several segments in receives of 16 KiB and more.
     * Further data of that address wait, or are refused, so that memory is left for others. The quota shrinks with what
     * other addresses have begun; it does not bound the first message of an address, which is only refused when all
     * addresses together would have more than three quarters of {@link RdmaChannel#registeredBytesLimit}. From 1;
     * default half of that limit. Lower it if untrusted hosts reach the port; use the full limit if all peers share one
     * address. May be changed at any time.
     */
    public static final ChannelOption<Long> INCOMPLETE_BYTES_PER_ADDRESS =
            valueOf(RdmaChannelOption.class, "INCOMPLETE_BYTES_PER_ADDRESS");

    /**
     * Time that a closing channel waits for posted work before it aborts the connection, in milliseconds. Default 2000.
     */
    public static final ChannelOption<Integer> DRAIN_MILLIS =
            valueOf(RdmaChannelOption.class, "DRAIN_MILLIS");

    /**
     * With {@code SO_KEEPALIVE}: seconds without traffic after which the channel checks for its peer, so that the loss
     * of a silent peer is detected. On by default for messages and streams: 1 to 32767, default 60; over TCP the loss
     * is detected 60 seconds later, on hardware after its retries. Raise it where waking up the network is expensive,
     * lower it where a firewall drops idle connections sooner. Fixed once the channel connects.
     */
    public static final ChannelOption<Integer> KEEP_ALIVE_SECONDS =
            valueOf(RdmaChannelOption.class, "KEEP_ALIVE_SECONDS");

    /** Granularity of the handles advertised to peers. Default {@link RegistrationPolicy#EXACT}. */
    public static final ChannelOption<RegistrationPolicy> REGISTRATION =
            valueOf(RdmaChannelOption.class, "REGISTRATION");

    /**
     * Of a server channel: decides which peers may connect. Default {@link AdmissionPolicy#acceptAll}. May be changed
     * at any time, for later connection requests.
     */
    public static final ChannelOption<AdmissionPolicy> ADMISSION_POLICY =
            valueOf(RdmaChannelOption.class, "ADMISSION_POLICY");

    /**
     * Of a server channel: how long {@link #ADMISSION_POLICY} may take for one decision, in milliseconds; the peer is
     * refused after it. From 1; default 5000. May be changed at any time, for later connection requests.
     */
    public static final ChannelOption<Integer> ADMISSION_TIMEOUT_MILLIS =
            valueOf(RdmaChannelOption.class, "ADMISSION_TIMEOUT_MILLIS");

    /**
     * Of a server channel: the most connection requests that {@link #ADMISSION_POLICY} has yet to decide on. Further
     * ones wait, and count in {@code SO_BACKLOG} as undecided ones do. From 1; default 64. May be changed at any time.
     */
    public static final ChannelOption<Integer> MAX_UNDECIDED_REQUESTS =
            valueOf(RdmaChannelOption.class, "MAX_UNDECIDED_REQUESTS");

    @SuppressWarnings({"deprecation", "unused"})
    private RdmaChannelOption() {
        super(null);
    }
}
