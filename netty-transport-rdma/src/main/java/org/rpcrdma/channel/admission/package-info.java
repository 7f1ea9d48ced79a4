// SPDX-License-Identifier: Apache-2.0
/**
 * Who may connect: policies that a server channel asks about each connection request, by {@code
 * RdmaChannelOption.ADMISSION_POLICY}. Knows no channel.
 *
 * <p>Stable.
 */
package org.rpcrdma.channel.admission;
