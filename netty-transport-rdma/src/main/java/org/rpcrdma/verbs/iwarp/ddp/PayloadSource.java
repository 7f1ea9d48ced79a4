// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.ddp;

import java.io.IOException;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;

/** Source of the payload of an outbound message, read segment by segment. */
public interface PayloadSource {

    /**
     * Number of bytes for the next segment. A source with many small pieces limits it.
     *
     * @param wanted at least 1, not more than what is left of the message
     * @return 1 to {@code wanted}
     * @throws IOException when the memory is not accessible any more; the stream ends
     */
    int admit(int wanted) throws IOException;

    /** Adds the next bytes, as many as were admitted. */
    void gather(FpduSender out, int bytes);
}
