// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.oncrpc.RpcCall;
import org.apache.hadoop.oncrpc.security.CredentialsSys;

/**
 * Who a client says makes the call (AUTH_SYS, RFC 5531, appendix A).
 *
 * @param uid 65534, nobody, if the client does not say
 */
record Caller(int uid, int gid, List<Integer> groups) {

    private static final int NOBODY = 65534;

    static Caller of(RpcCall call) {
        return call.getCredential() instanceof CredentialsSys sys
                ? new Caller(
                        sys.getUID(),
                        sys.getGID(),
                        Arrays.stream(sys.getAuxGIDs()).boxed().toList())
                : new Caller(NOBODY, NOBODY, List.of());
    }

    boolean isInGroup(int group) {
        return gid == group || groups.contains(group);
    }
}
