// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.bootstrap.ServerBootstrap;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.admission.AdmissionDecision;
import org.rpcrdma.channel.admission.AdmissionPolicy;
import org.rpcrdma.channel.admission.AdmissionRequest;

/**
 * Decides late who may connect to a server, in one world of five. Where connections are lost anyway, it refuses some,
 * fails, or does not decide at all.
 */
final class SimulatedAdmission implements AdmissionPolicy {

    private static final int MOST_DELAY_MILLIS = 400;
    private static final int TIMEOUT_MILLIS = 1500;
    private static final int EACH_NOT_ADMITTED = 6;

    private final SimulatedWorld world;
    private final SimulatedHost host;
    private final Random random;
    private final int mostUndecided;

    private SimulatedAdmission(SimulatedWorld world, SimulatedHost host, Random random) {
        this.world = world;
        this.host = host;
        this.random = random;
        mostUndecided = 1 + random.nextInt(3);
    }

    /** {@code null} for none. A crowd has limits of its own. */
    static SimulatedAdmission of(SimulatedWorld world, int server, SimulatedHost host) {
        long seed = world.plan.seed();
        return seed % 5 == 2 && !world.plan.has(SimulationAction.Kind.CROWD)
                ? new SimulatedAdmission(world, host, new Random(seed * 43 + server))
                : null;
    }

    void applyTo(ServerBootstrap bootstrap) {
        bootstrap
                .option(RdmaChannelOption.ADMISSION_POLICY, this)
                .option(RdmaChannelOption.ADMISSION_TIMEOUT_MILLIS, TIMEOUT_MILLIS)
                .option(RdmaChannelOption.MAX_UNDECIDED_REQUESTS, mostUndecided);
    }

    @Override
    public CompletionStage<AdmissionDecision> decide(AdmissionRequest request) {
        boolean mayRefuse = world.plan.hasLosses() && !world.plan.isShortOfMemory();
        if (mayRefuse && random.nextInt(EACH_NOT_ADMITTED) == 0) {
            return switch (random.nextInt(3)) {
                case 0 -> throw new IllegalStateException("the policy of " + host + " fails");
                case 1 -> new CompletableFuture<>();
                default ->
                        CompletableFuture.completedStage(
                                AdmissionDecision.reject("nobody may connect to " + host));
            };
        }
        if (random.nextInt(3) == 0) {
            return CompletableFuture.completedStage(AdmissionDecision.accept());
        }
        CompletableFuture<AdmissionDecision> decision = new CompletableFuture<>();
        host.group
                .next()
                .schedule(
                        () -> decision.complete(AdmissionDecision.accept()),
                        random.nextInt(MOST_DELAY_MILLIS),
                        TimeUnit.MILLISECONDS);
        return decision;
    }
}
