// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.EventLoopGroup;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.rpcrdma.benchmarks.Transport;

/** One of those that are compared. */
interface Contender {

    /** Whatever there is, this project first. */
    static List<Contender> all() {
        return Stream.<Stream<? extends Contender>>of(
                        Stream.of(Transport.values()).map(OnTransport::new),
                        Stream.of(Peer.values()),
                        Stream.of(Floor.values()))
                .<Contender>flatMap(some -> some)
                .toList();
    }

    /**
     * @throws IllegalArgumentException when there is no such one
     */
    static Contender named(String name) {
        return all().stream()
                .filter(contender -> contender.name().equals(name))
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalArgumentException(
                                        "--transports: there is no "
                                                + name
                                                + " (expected some of: "
                                                + String.join(", ", names())
                                                + ")"));
    }

    static List<String> names() {
        return all().stream().map(Contender::name).toList();
    }

    String name();

    /** Whether it takes two CPUs, whatever it has to do. */
    boolean isBusy();

    /** Whether this machine has it. */
    boolean isAvailable();

    Set<Application> applications();

    /** Of its applications, whether this one is done. */
    boolean does(Work work);

    /** Of one event loop. */
    EventLoopGroup newGroup();

    Side open(Application application, Tools tools);
}
