// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvMr;
import java.io.IOException;
import org.rpcrdma.verbs.MemoryRegion;

/** A memory region. */
final class SoftwareMr extends IbvMr {

    final SoftwarePd domain;
    final MemoryRegion region;

    SoftwareMr(SoftwarePd domain, MemoryRegion region, int access, int remoteKey)
            throws IOException {
        super(
                domain.getContext(),
                region.address(),
                region.length(),
                access,
                region.localKey(),
                remoteKey,
                0);
        this.domain = domain;
        this.region = region;
    }
}
