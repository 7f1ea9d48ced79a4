// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;

/** Messages of several frames and system calls. */
@OperationsPerInvocation(LargeVerbsBenchmark.BATCH)
public class LargeVerbsBenchmark extends VerbsBenchmark {

    static final int BATCH = 2_000;

    @Param({"65536", "1048576"})
    public int bytes;

    @Override
    int bytes() {
        return bytes;
    }

    @Override
    int batch() {
        return BATCH;
    }
}
