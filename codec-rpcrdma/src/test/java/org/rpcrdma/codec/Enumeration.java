// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.params.provider.Arguments;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.fault.FaultContext.Delivery;
import org.rpcrdma.codec.fault.Step;

/**
 * Runs an exchange again and again, with a fault at its first, second, third step and so on, until it gets through
 * untouched. Nothing is sampled. Every run has two calls, of which the second waits for a credit.
 */
final class Enumeration {

    private Enumeration() {}

    /** Configurations are new for each run: they remember calls that have killed a connection. */
    static RpcRdmaConfig requester() {
        return builder().requestedCredits(4).build();
    }

    static RpcRdmaConfig responder() {
        return builder().grantedCredits(4).build();
    }

    /** A responder whose handlers get what came in chunks apart, where the requester's do. */
    static RpcRdmaConfig responder(Form form) {
        return builder().grantedCredits(4).annotatedCalls(form.isApart()).build();
    }

    static RpcRdmaConfig.Builder builder() {
        return RpcPair.usual().bindings(BindingRegistry.standard().with(new ItemsBinding()));
    }

    /** Every form with every fault in the device of either role. */
    static List<Arguments> everything() {
        List<Arguments> all = new ArrayList<>();
        for (Form form : Form.values()) {
            for (Role role : Role.values()) {
                for (Fault fault : Fault.values()) {
                    all.add(Arguments.of(form, role, fault));
                }
            }
        }
        return all;
    }

    /** Returns the steps that were hit, in their order. */
    static List<Step> run(FaultPair pair, Form form, Role role, Fault fault, Delivery delivery)
            throws Exception {
        return run(
                pair,
                form,
                role,
                fault,
                delivery,
                Enumeration::requester,
                () -> Enumeration.responder(form));
    }

    static List<Step> run(
            FaultPair pair,
            Form form,
            Role role,
            Fault fault,
            Delivery delivery,
            Supplier<RpcRdmaConfig> requester,
            Supplier<RpcRdmaConfig> responder)
            throws Exception {
        List<Step> hit = new ArrayList<>();
        int first = form.xids() | 1;
        while (true) {
            String at = form + ", " + role + ", " + fault + " at step " + hit.size();
            try (FaultPair.Connection connection =
                    pair.connect(
                            requester.get(), responder.get(), call -> form.answer(Rpc.xid(call)))) {
                Fault.Plan plan = fault.at(hit.size(), connection, role);
                connection.delivery(Role.REQUESTER, delivery);
                connection.delivery(Role.RESPONDER, delivery);
                connection.expectCalls(2);
                connection.plan(role, plan);
                connection.call(form.written(first), form.written(first + 1));
                Map<Integer, String> outcomes = connection.outcomes();
                assertThat(outcomes).as(at).doesNotContainValue("wrong reply");
                if (plan.reached() == null) {
                    assertThat(outcomes.values()).as(at).containsExactly("replied", "replied");
                    return hit;
                }
                hit.add(plan.reached());
            } catch (AssertionError | java.util.concurrent.ExecutionException e) {
                throw new AssertionError(at + " " + hit + ": " + e.getMessage(), e);
            }
        }
    }
}
