// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import java.util.List;

/** A copy of an {@code ibv_send_wr}. */
record SendRequest(
        long workId,
        int opcode,
        int flags,
        int immediate,
        long remoteAddress,
        int remoteKey,
        List<Range> ranges) {}
