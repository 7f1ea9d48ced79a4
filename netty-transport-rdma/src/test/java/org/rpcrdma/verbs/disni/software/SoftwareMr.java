// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvMr;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.rpcrdma.verbs.MemoryRegion;

/** A memory region. */
final class SoftwareMr extends IbvMr {

    final SoftwarePd domain;
    final MemoryRegion region;

    /** What was registered. */
    final ByteBuffer memory;

    /** {@code IBV_ACCESS_...}. */
    final int rights;

    SoftwareMr(SoftwarePd domain, MemoryRegion region, ByteBuffer memory, int rights, int remoteKey)
            throws IOException {
        super(
                domain.getContext(),
                region.address(),
                region.length(),
                rights,
                region.localKey(),
                remoteKey,
                0);
        this.memory = memory;
        this.rights = rights;
        this.domain = domain;
        this.region = region;
    }

    /** A range of what is registered here, or {@code null} when it is not. */
    ByteBuffer range(long address, int length) {
        long index = address - getAddr();
        return index < 0 || index > (long) getLength() - length
                ? null
                : memory.slice((int) index, length);
    }
}
