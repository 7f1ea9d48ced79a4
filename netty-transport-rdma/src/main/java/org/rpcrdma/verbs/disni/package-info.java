// SPDX-License-Identifier: Apache-2.0
/**
 * The verbs SPI on RDMA hardware, through DiSNI 2.1 ({@code com.ibm.disni:disni}, optional) and its native part
 * {@code libdisni}.
 *
 * <p>Stands on DiSNI's verbs and connection-manager layer, not on its endpoint groups. What is posted and polled
 * is laid out here, once, as the C structures that {@code libibverbs} takes, so that nothing is allocated for a
 * work request.
 *
 * <p>Internal, but for {@link org.rpcrdma.verbs.disni.Disni}, which is stable.
 */
package org.rpcrdma.verbs.disni;
