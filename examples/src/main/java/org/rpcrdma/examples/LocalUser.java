// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.rpcrdma.codec.rpc.OpaqueAuth;

/** Who runs this program, as a server wants to know it. */
final class LocalUser {

    private static final int NOBODY = 65534;

    private LocalUser() {}

    static OpaqueAuth credential() {
        // Java does not tell whom a process runs as, but whom its files belong to.
        Path self = Path.of("/proc/self");
        try {
            int uid = (int) Files.getAttribute(self, "unix:uid");
            int gid = (int) Files.getAttribute(self, "unix:gid");
            return OpaqueAuth.sys(machine(), uid, gid, List.of());
        } catch (IOException | UnsupportedOperationException e) {
            return OpaqueAuth.sys(machine(), NOBODY, NOBODY, List.of());
        }
    }

    private static String machine() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }
}
