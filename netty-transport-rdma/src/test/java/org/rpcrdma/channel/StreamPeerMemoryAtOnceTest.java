// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.NeedsDevice;

/** The same on a device that needs the memory of receive buffers before the peer writes. */
@NeedsDevice("privateDataOnAccept")
class StreamPeerMemoryAtOnceTest extends StreamPeerTest {

    @Override
    RdmaEventLoopGroup newGroup() {
        return new RdmaEventLoopGroup(
                1,
                ChangedDevice.of(device -> device.exposesWithoutMemory(false)),
                PollMode.ADAPTIVE);
    }
}
