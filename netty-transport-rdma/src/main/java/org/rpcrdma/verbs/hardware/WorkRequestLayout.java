// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/**
 * Field offsets of {@code ibv_send_wr}, {@code ibv_recv_wr}, {@code ibv_sge} and {@code ibv_wc} on 64-bit machines:
 * programs have them compiled in, so that they do not change.
 */
public final class WorkRequestLayout {

    /** The first fields of both kinds of work request. */
    public static final int WR_ID = 0;

    public static final int WR_NEXT = 8;
    public static final int WR_RANGES = 16;
    public static final int WR_RANGE_COUNT = 24;

    public static final int SEND_OPCODE = 28;
    public static final int SEND_FLAGS = 32;

    /** Of a Send with Invalidate the key. */
    public static final int SEND_INVALIDATE = 36;

    /** In the same place the immediate, in network byte order. */
    public static final int SEND_IMMEDIATE = SEND_INVALIDATE;

    public static final int SEND_REMOTE_ADDRESS = 40;
    public static final int SEND_REMOTE_KEY = 48;

    /** Of a work request that binds a memory window, in the place of the remote address. */
    public static final int BIND_WINDOW = 80;

    public static final int BIND_KEY = 88;
    public static final int BIND_REGION = 96;
    public static final int BIND_ADDRESS = 104;
    public static final int BIND_LENGTH = 112;
    public static final int BIND_ACCESS = 120;
    public static final int SEND_SIZE = 128;

    public static final int RECEIVE_SIZE = 32;

    public static final int RANGE_ADDRESS = 0;
    public static final int RANGE_LENGTH = 8;
    public static final int RANGE_KEY = 12;
    public static final int RANGE_SIZE = 16;

    public static final int WC_ID = 0;
    public static final int WC_STATUS = 8;
    public static final int WC_OPCODE = 12;
    public static final int WC_LENGTH = 20;

    /** With {@link VerbsConstants#WC_WITH_INVALIDATE} the key that the peer invalidated. */
    public static final int WC_INVALIDATED = 24;

    /** In the same place, with {@link VerbsConstants#WC_WITH_IMMEDIATE}, the immediate in network byte order. */
    public static final int WC_IMMEDIATE = WC_INVALIDATED;

    public static final int WC_FLAGS = 36;
    public static final int WC_SIZE = 48;

    private WorkRequestLayout() {}
}
