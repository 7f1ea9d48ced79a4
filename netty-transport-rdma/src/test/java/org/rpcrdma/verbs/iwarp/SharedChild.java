// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;

/** A process that connects, sends three bytes, and waits to be killed. */
final class SharedChild {

    private SharedChild() {}

    /** @param args where files are, and the port to connect to */
    public static void main(String[] args) throws Exception {
        IwarpConfig config =
                IwarpConfig.builder().sharedMemory(true).sharedDirectory(Path.of(args[0])).build();
        try (IwarpContext context = new IwarpContext(config)) {
            Endpoint end = new Endpoint(context, 64);
            end.queuePair = context.createQueuePair(Pair.SIZE, end);
            end.put(0, new byte[] {4, 5, 6});
            end.queuePair.connect(
                    new InetSocketAddress(
                            InetAddress.getLoopbackAddress(), Integer.parseInt(args[1])),
                    null,
                    new byte[0]);
            Pair.until(end::isConnected, context);
            end.queuePair.send(1, 0);
            end.gather(0, 3);
            end.queuePair.doorbell();
            while (!end.isEnded()) {
                if (context.poll(64) == 0) {
                    context.await(-1);
                }
            }
        }
    }
}
