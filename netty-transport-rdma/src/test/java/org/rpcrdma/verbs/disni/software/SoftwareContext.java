// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvContext;
import java.io.IOException;

/** The one device. */
final class SoftwareContext extends IbvContext {

    private static final int FILE_DESCRIPTOR = 1000;

    SoftwareContext() throws IOException {
        super(FILE_DESCRIPTOR, 1);
    }
}
