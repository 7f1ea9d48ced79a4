// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.access;

import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.capture.RdmaPcapFile;
import org.rpcrdma.codec.internal.ExposureListener;

/** Opens the capture of connections to the codec. */
public abstract class CaptureHandlerInstallerAccess {

    /** The only one. */
    public static final CaptureHandlerInstallerAccess CAPTURE =
            CodecImplementationLoader.of(
                    CaptureHandlerInstallerAccess.class,
                    "org.rpcrdma.codec.capture.CaptureHandlerInstaller");

    protected CaptureHandlerInstallerAccess() {}

    /**
     * Captures a connection, by a handler behind that of the context.
     *
     * @param ctx of the handler on the network's side
     * @param file that is written
     * @param channel of the connection
     * @param maxSegments of one message of the peer
     * @return the listener of memory exposed to the peer
     */
    public abstract ExposureListener addAfter(
            ChannelHandlerContext ctx, RdmaPcapFile file, RdmaChannel channel, int maxSegments);
}
