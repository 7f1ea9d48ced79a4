// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import org.rpcrdma.verbs.hardware.NativeRegion;

/** An {@code ibv_mr}. */
final class FfmRegion extends NativeRegion {

    private final NativeFunctions library;
    private final long pointer;

    FfmRegion(NativeFunctions library, long address, int length, long pointer) {
        super(
                address,
                length,
                CMemory.getInt(pointer + StructLayouts.MR_LOCAL_KEY),
                CMemory.getInt(pointer + StructLayouts.MR_REMOTE_KEY));
        this.library = library;
        this.pointer = pointer;
    }

    @Override
    protected long pointer() {
        return pointer;
    }

    @Override
    protected void end() throws IOException {
        Errno.checkNumber("ibv_dereg_mr", library.deregMr(pointer));
    }
}
