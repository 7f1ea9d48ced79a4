// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

/**
 * Field offsets of C structures outside of the data path, on 64-bit machines. All of these are compiled into each
 * program that uses verbs, and are the same in rdma-core 24 to 64.
 */
final class StructLayouts {

    // ibv_context; its functions are pointers
    static final int CONTEXT_DEVICE = 0;
    static final int CONTEXT_ALLOC_MW = 64;
    static final int CONTEXT_DEALLOC_MW = 80;
    static final int CONTEXT_POLL_CQ = 96;
    static final int CONTEXT_REQ_NOTIFY_CQ = 104;
    static final int CONTEXT_POST_SEND = 208;
    static final int CONTEXT_POST_RECV = 216;
    static final int CONTEXT_ASYNC_FD = 268;
    static final int CONTEXT_VECTORS = 272;

    // ibv_device
    static final int DEVICE_TRANSPORT = 20;
    static final int DEVICE_NAME = 24;
    static final int DEVICE_NAME_SIZE = 64;
    static final int TRANSPORT_IWARP = 1;

    // ibv_device_attr
    static final int ATTR_SIZE = 232;
    static final int ATTR_VENDOR = 96;
    static final int ATTR_MAX_QP = 108;
    static final int ATTR_FLAGS = 116;
    static final int ATTR_MAX_SGE = 120;
    static final int ATTR_MAX_SGE_RD = 124;
    static final int ATTR_MAX_CQE = 132;
    static final int ATTR_MAX_QP_RD_ATOM = 144;
    static final int ATTR_MAX_QP_INIT_RD_ATOM = 156;
    static final int ATTR_MAX_MW = 176;
    static final int ATTR_PORTS = 227;
    static final int DEVICE_MW_TYPE_2 = 1 << 23 | 1 << 24;

    /** The vendor of soft-RoCE. */
    static final int VENDOR_SOFT_ROCE = 0xffffff;

    // ibv_port_attr: grows
    static final int PORT_SIZE = 64;
    static final int PORT_STATE = 0;
    static final int PORT_ACTIVE = 4;

    // ibv_mr
    static final int MR_LOCAL_KEY = 36;
    static final int MR_REMOTE_KEY = 40;

    /** {@code IB_WC_WITH_INVALIDATE} of the kernel, which to programs is {@code IBV_WC_IP_CSUM_OK}. */
    static final int KERNEL_WITH_INVALIDATE = 1 << 2;

    // ibv_mw
    static final int MW_KEY = 16;
    static final int MW_TYPE_2 = 2;

    static final int CHANNEL_FD = 8; // ibv_comp_channel
    static final int CQ_ENTRIES = 28; // ibv_cq
    static final int QP_NUMBER = 52; // ibv_qp

    // ibv_qp_init_attr
    static final int QP_INIT_SIZE = 64;
    static final int QP_INIT_SEND_CQ = 8;
    static final int QP_INIT_RECV_CQ = 16;
    static final int QP_INIT_MAX_SEND_WR = 32;
    static final int QP_INIT_MAX_RECV_WR = 36;
    static final int QP_INIT_MAX_SEND_SGE = 40;
    static final int QP_INIT_MAX_RECV_SGE = 44;
    static final int QP_INIT_TYPE = 52;
    static final int QP_TYPE_RC = 2;

    // ibv_qp_attr
    static final int QP_ATTR_SIZE = 144;
    static final int QP_ATTR_STATE = 0;
    static final int QP_STATE_MASK = 1;
    static final int QP_STATE_ERROR = 6;

    // ibv_async_event
    static final int ASYNC_SIZE = 16;
    static final int ASYNC_ELEMENT = 0;
    static final int ASYNC_TYPE = 8;

    // rdma_cm_id
    static final int ID_VERBS = 0;
    static final int ID_QP = 24;
    static final int ID_SOURCE = 32;
    static final int ID_DESTINATION = 160;
    static final int ID_SIZE = 416;

    // rdma_cm_event
    static final int EVENT_ID = 0;
    static final int EVENT_LISTENER = 8;
    static final int EVENT_TYPE = 16;
    static final int EVENT_STATUS = 20;
    static final int EVENT_DATA = 24;
    static final int EVENT_DATA_LENGTH = 32;
    static final int EVENT_RESPONDER = 33;
    static final int EVENT_INITIATOR = 34;
    static final int EVENT_SIZE = 80;

    // rdma_conn_param
    static final int PARAM_SIZE = 24;
    static final int PARAM_DATA = 0;
    static final int PARAM_DATA_LENGTH = 8;
    static final int PARAM_RESPONDER = 9;
    static final int PARAM_INITIATOR = 10;
    static final int PARAM_FLOW_CONTROL = 11;
    static final int PARAM_RETRIES = 12;
    static final int PARAM_RNR_RETRIES = 13;

    // rdma_set_option
    static final int OPTION_ID = 0;
    static final int OPTION_TOS = 0;
    static final int OPTION_AFONLY = 2;

    // pollfd, and what is not of rdma-core
    static final int POLL_SIZE = 8;
    static final int POLL_EVENTS = 4;
    static final int POLL_RETURNED = 6;
    static final int POLLIN = 1;
    static final int F_GETFL = 3;
    static final int F_SETFL = 4;
    static final int O_NONBLOCK = 0x800;

    private StructLayouts() {}
}
