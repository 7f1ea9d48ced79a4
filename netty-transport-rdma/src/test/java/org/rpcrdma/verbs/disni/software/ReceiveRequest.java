// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import java.util.List;

/** A copy of an {@code ibv_recv_wr}. */
record ReceiveRequest(long workId, List<Range> ranges) {}
