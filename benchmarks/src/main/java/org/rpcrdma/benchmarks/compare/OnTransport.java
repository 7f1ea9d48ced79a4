// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.EventLoopGroup;
import java.util.EnumSet;
import java.util.Set;
import org.rpcrdma.benchmarks.Transport;

/** Netty's pipelines on one of its transports. */
record OnTransport(Transport transport) implements Contender {

    @Override
    public String name() {
        return transport.name();
    }

    @Override
    public boolean isBusy() {
        return transport.isBusy();
    }

    @Override
    public boolean isAvailable() {
        return transport.isAvailable();
    }

    @Override
    public Set<Application> applications() {
        return transport.isStream()
                ? EnumSet.allOf(Application.class)
                : EnumSet.of(Application.RPC);
    }

    @Override
    public boolean does(Work work) {
        return applications().contains(work.application())
                && (!transport.isPlaced() || work.procedure() == Work.Procedure.READ);
    }

    @Override
    public EventLoopGroup newGroup() {
        return transport.newGroup();
    }

    @Override
    public Side open(Application application, Tools tools) {
        return switch (application) {
            case RPC -> new RpcSide(transport, tools);
            case BYTES -> new BytesSide(transport, tools);
            case HTTP1 -> new Http1Side(transport, tools);
            case HTTP2 -> new Http2Side(transport, tools);
            case GRPC -> new GrpcSide(transport, tools);
        };
    }
}
