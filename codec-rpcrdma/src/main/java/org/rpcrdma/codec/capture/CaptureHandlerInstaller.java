// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.access.CaptureHandlerInstallerAccess;
import org.rpcrdma.codec.internal.ExposureListener;

/**
 * The only implementation of {@link CaptureHandlerInstallerAccess}, and the only class that opens this package to
 * another one.
 */
final class CaptureHandlerInstaller extends CaptureHandlerInstallerAccess {

    private CaptureHandlerInstaller() {}

    @Override
    public ExposureListener addAfter(
            ChannelHandlerContext ctx, RdmaPcapFile file, RdmaChannel channel, int maxSegments) {
        RdmaPcapHandler handler = new RdmaPcapHandler(file, channel, maxSegments);
        ctx.pipeline().addAfter(ctx.name(), null, handler);
        return handler;
    }
}
