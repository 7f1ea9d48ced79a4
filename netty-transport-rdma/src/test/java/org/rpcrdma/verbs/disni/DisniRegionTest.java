// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.SVCRegMr;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

/** A registration that DiSNI has made, and that nobody gets, is none. */
class DisniRegionTest {

    /** The heap is exhausted behind the call that registers. */
    private static final class ShortCall extends SVCRegMr {
        private final SVCRegMr real;

        ShortCall(SVCRegMr real) {
            this.real = real;
        }

        @Override
        public SVCRegMr execute() throws IOException {
            real.execute();
            return this;
        }

        @Override
        public IbvMr getMr() {
            return real.getMr();
        }

        @Override
        public boolean isValid() {
            return real.isValid();
        }

        @Override
        public SVCRegMr free() {
            real.free();
            throw new OutOfMemoryError("of the test");
        }
    }

    @Test
    void whatFailsBehindARegistrationEndsIt() throws Exception {
        SoftwareRdmaProvider provider = SoftwareRdmaProvider.install();
        DisniEventLoopDevice device =
                new DisniEventLoopDevice(
                        new DisniConfig(InetAddress.getLoopbackAddress(), 64, 0, 2000));
        try {
            final long before = provider.registeredBytes();
            ByteBuffer memory = ByteBuffer.allocateDirect(100);
            SVCRegMr call = device.domain().regMr(memory, IbvMr.IBV_ACCESS_LOCAL_WRITE);
            assertThatThrownBy(() -> DisniRegion.make(new ShortCall(call)))
                    .isInstanceOf(OutOfMemoryError.class);
            assertThat(provider.registeredBytes()).isEqualTo(before);
        } finally {
            device.close();
        }
    }
}
