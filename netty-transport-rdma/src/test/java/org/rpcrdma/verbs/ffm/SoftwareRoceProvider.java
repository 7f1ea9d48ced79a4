// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

/**
 * As {@link SoftwareFfmProvider}, on a device like soft-RoCE, which writes with immediates:
 * {@code -Dorg.rpcrdma.provider=ffm-software-roce}.
 */
public final class SoftwareRoceProvider extends SoftwareFfmProvider {

    /** The name of this provider. */
    public static final String ROCE = "ffm-software-roce";

    /** A device without memory windows. */
    public SoftwareRoceProvider() {
        super(true, false);
    }

    @Override
    public String name() {
        return ROCE;
    }
}
