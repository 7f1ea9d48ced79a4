// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvPd;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A protection domain. Counts its regions and does not keep those of several apart: the device has one table of keys.
 */
final class SoftwarePd extends IbvPd {

    final AtomicInteger regions = new AtomicInteger();

    SoftwarePd(IbvContext context) throws IOException {
        super(context);
    }
}
