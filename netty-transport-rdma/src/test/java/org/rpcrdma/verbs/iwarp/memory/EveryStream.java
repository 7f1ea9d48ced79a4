// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

/**
 * The owner of memory regions in the sense of verbs: all connections of a context may use their keys, at
 * their addresses.
 */
public final class EveryStream extends ExposureOwner {

    @Override
    protected boolean admits(ExposureOwner stream) {
        return true;
    }

    /** Its exposures end with their region only, which takes back what is lent of it. */
    @Override
    protected void revoking(IwarpExposure exposure) {}

    /** Exposes a range to one stream under its address, and returns the key. */
    public static int exposeInPlace(
            StagTable stags,
            ExposureOwner stream,
            IwarpMemoryRegion region,
            long address,
            int length,
            int access) {
        return stags.exposeAt(stream, region, address, length, access, address).stag();
    }

    /** Exposes a whole region under its address, and returns the key. */
    public int expose(StagTable stags, IwarpMemoryRegion region, int access) {
        return stags.exposeAt(
                        this, region, region.address(), region.length(), access, region.address())
                .stag();
    }
}
