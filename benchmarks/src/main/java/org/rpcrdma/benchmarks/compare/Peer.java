// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.EventLoopGroup;
import java.util.EnumSet;
import java.util.Set;
import org.rpcrdma.benchmarks.Transport;

/** RPC servers that others wrote, on TCP, called by the client of {@link Transport#NIO}. */
enum Peer implements Contender {
    /** The stages of Hadoop's oncrpc, as Hadoop arranges them. */
    HADOOP {
        @Override
        public Side open(Application application, Tools tools) {
            return new HadoopSide(tools);
        }
    },
    /** The service of oncrpc4j, on Grizzly. */
    ONCRPC4J {
        @Override
        public Side open(Application application, Tools tools) {
            return new OncRpc4jSide(tools);
        }
    };

    @Override
    public boolean isBusy() {
        return false;
    }

    @Override
    public boolean isAvailable() {
        return true;
    }

    @Override
    public Set<Application> applications() {
        return EnumSet.of(Application.RPC);
    }

    @Override
    public boolean does(Work work) {
        return work.application() == Application.RPC
                && work.connections() == 1
                && work.procedure() != Work.Procedure.WRITE;
    }

    @Override
    public EventLoopGroup newGroup() {
        return Transport.NIO.newGroup();
    }
}
