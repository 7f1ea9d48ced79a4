// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The connection requests of one listener that are not answered. They may be answered by other threads. */
final class PendingConnectionRequests {

    private final Set<IwarpConnectionRequest> requests = new HashSet<>();

    synchronized void add(IwarpConnectionRequest request) {
        requests.add(request);
    }

    synchronized int size() {
        return requests.size();
    }

    synchronized void remove(IwarpConnectionRequest request) {
        requests.remove(request);
    }

    private synchronized List<IwarpConnectionRequest> all() {
        return new ArrayList<>(requests);
    }

    /** Refuses all of them. */
    void rejectAll() {
        all().forEach(IwarpConnectionRequest::withdraw);
    }
}
