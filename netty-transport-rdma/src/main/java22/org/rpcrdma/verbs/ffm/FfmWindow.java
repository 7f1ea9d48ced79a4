// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import org.rpcrdma.verbs.hardware.NativeWindow;

/** An {@code ibv_mw} of type 2. */
final class FfmWindow extends NativeWindow {

    private final NativeFunctions.Operations operations;
    private final long pointer;

    FfmWindow(NativeFunctions.Operations operations, long pointer) {
        super(CMemory.getInt(pointer + StructLayouts.MW_KEY));
        this.operations = operations;
        this.pointer = pointer;
    }

    /** For type 2 no library does it. */
    @Override
    protected void remember(int boundKey) {
        CMemory.putInt(pointer + StructLayouts.MW_KEY, boundKey);
    }

    @Override
    protected long pointer() {
        return pointer;
    }

    @Override
    protected void end() throws IOException {
        Errno.checkNumber("ibv_dealloc_mw", operations.deallocMw(pointer));
    }
}
