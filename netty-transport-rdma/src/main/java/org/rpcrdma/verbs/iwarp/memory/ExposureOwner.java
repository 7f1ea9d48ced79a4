// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

/** Stream to whose peer memory is exposed, or a set of such streams. */
public abstract class ExposureOwner {

    IwarpExposure exposures;

    /** Whether the peer of a stream may use what is exposed by this owner. */
    protected boolean admits(ExposureOwner stream) {
        return stream == this;
    }

    /**
     * An exposure of this stream is about to end. Its queued bytes must not be read from its memory after this call.
     */
    protected abstract void revoking(IwarpExposure exposure);
}
