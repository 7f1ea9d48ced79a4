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

    /** Makes the call that registers. */
    static DisniRegion make(SVCRegMr call) throws IOException {
        try {
            return new DisniRegion(call.execute().getMr());
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
        SVCDeregMr call = region.deregMr();
        call.execute();
        call.free();
    }
}
