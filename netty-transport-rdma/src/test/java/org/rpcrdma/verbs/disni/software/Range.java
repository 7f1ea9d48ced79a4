// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvSge;
import java.util.List;

/** A copy of an {@code ibv_sge}. */
record Range(long address, int length, int key) {

    static List<Range> copies(List<IbvSge> ranges) {
        return ranges == null
                ? List.of()
                : ranges.stream()
                        .map(
                                range ->
                                        new Range(
                                                range.getAddr(),
                                                range.getLength(),
                                                range.getLkey()))
                        .toList();
    }
}
