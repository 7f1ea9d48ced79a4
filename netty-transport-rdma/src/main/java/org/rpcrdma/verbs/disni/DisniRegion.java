// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.SVCDeregMr;
import com.ibm.disni.verbs.SVCRegMr;
import java.io.IOException;
import org.rpcrdma.verbs.hardware.NativeRegion;

/** A registration that DiSNI has made. */
final class DisniRegion extends NativeRegion {

    private final IbvMr region;

    /** Makes the call that registers. Where that or anything behind it fails, nothing is registered. */
    static DisniRegion make(SVCRegMr call) throws IOException {
        IbvMr made = null;
        try {
            try {
                made = call.execute().getMr();
            } finally {
                call.free();
            }
            return new DisniRegion(made);
        } catch (Throwable t) {
            if (made != null) {
                // Nobody else knows it, and its memory is about to be freed.
                deregister(made);
            }
            throw t;
        }
    }

    private static void deregister(IbvMr region) throws IOException {
        SVCDeregMr call = region.deregMr();
        try {
            call.execute();
        } finally {
            call.free();
        }
    }

    private DisniRegion(IbvMr region) {
        super(region.getAddr(), region.getLength(), region.getLkey(), region.getRkey());
        this.region = region;
    }

    @Override
    protected void end() throws IOException {
        deregister(region);
    }
}
