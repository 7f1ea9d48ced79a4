// SPDX-License-Identifier: Apache-2.0
package com.ibm.disni.util;

/**
 * Takes the place of DiSNI's class of that name, which loads {@code libdisni} although its endpoint groups ask it for
 * nothing. {@link org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider#install()} sees to it, whatever the order of
 * the class path.
 */
public final class NativeAffinity {

    private NativeAffinity() {}

    /** Threads run where they like. */
    public static void setAffinity(long affinity) {}

    /** None. */
    public static long getAffinity() {
        return 0;
    }
}
