// SPDX-License-Identifier: Apache-2.0
/**
 * Captures connections to files for Wireshark: {@link org.rpcrdma.codec.capture.RdmaPcapFile}.
 *
 * <p>Stable.
 */
package org.rpcrdma.codec.capture;
