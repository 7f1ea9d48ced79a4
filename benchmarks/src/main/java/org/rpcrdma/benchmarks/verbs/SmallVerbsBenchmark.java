// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;

/** Messages that fit one frame and one system call. */
@OperationsPerInvocation(SmallVerbsBenchmark.BATCH)
public class SmallVerbsBenchmark extends VerbsBenchmark {

    static final int BATCH = 100_000;

    @Param({"64", "4096"})
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
