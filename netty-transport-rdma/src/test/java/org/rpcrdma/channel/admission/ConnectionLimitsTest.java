// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

class ConnectionLimitsTest {

    private static AdmissionDecision decide(AdmissionPolicy policy, AdmissionRequest request) {
        return policy.decide(request).toCompletableFuture().join();
    }

    @Test
    void anAddressHasNoMoreConnectionsThanItsLimit() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(10, 2);
        ReceivedRequest first = ReceivedRequest.from("192.0.2.1");

        assertThat(decide(limits, first).isAccepted()).isTrue();
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.1")).isAccepted()).isTrue();
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.1")).reason())
                .isEqualTo("the address has its limit of connections");
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.2")).isAccepted()).isTrue();
        assertThat(limits.connections()).isEqualTo(3);
        assertThat(limits.addresses()).isEqualTo(2);
        first.end();
        assertThat(limits.connections()).isEqualTo(2);
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.1")).isAccepted()).isTrue();
    }

    @Test
    void allAddressesTogetherHaveALimit() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(2, 2);
        ReceivedRequest first = ReceivedRequest.from("192.0.2.1");

        assertThat(decide(limits, first).isAccepted()).isTrue();
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.2")).isAccepted()).isTrue();
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.3")).reason())
                .isEqualTo("the server has its limit of connections");
        first.end();
        assertThat(limits.addresses()).isEqualTo(1);
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.3")).isAccepted()).isTrue();
    }

    /** A host may use any address of its /64. */
    @Test
    void addressesWithACommonPrefixMayShareALimit() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(10, 1, 64);

        assertThat(decide(limits, ReceivedRequest.from("2001:db8::1")).isAccepted()).isTrue();
        assertThat(decide(limits, ReceivedRequest.from("2001:db8::2")).isAccepted()).isFalse();
        assertThat(decide(limits, ReceivedRequest.from("2001:db8:0:1::1")).isAccepted()).isTrue();
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.1")).isAccepted()).isTrue();
        assertThat(decide(limits, ReceivedRequest.from("192.0.2.2")).isAccepted()).isTrue();
    }

    @Test
    void threadsThatShareLimitsGiveBackWhatTheyTake() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(50, 5);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(
                    new Thread(
                            () -> {
                                for (int j = 0; j < 2_000; j++) {
                                    connectAndEnd(limits, 5);
                                }
                            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(limits.connections()).isZero();
        assertThat(limits.addresses()).isZero();
    }

    private static void connectAndEnd(ConnectionLimits limits, int count) {
        List<ReceivedRequest> requests = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                String host = "192.0.2." + ThreadLocalRandom.current().nextInt(4);
                requests.add(ReceivedRequest.from(host));
            }
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
        requests.forEach(limits::decide);
        requests.forEach(ReceivedRequest::end);
    }

    @Test
    void limitsBelowOneAreRefused() {
        assertThatThrownBy(() -> new ConnectionLimits(0, 1))
                .hasMessage("limit: 0 (expected: 1 to 2147483647)");
        assertThatThrownBy(() -> new ConnectionLimits(1, 0))
                .hasMessage("addressLimit: 0 (expected: 1 to 2147483647)");
        assertThatThrownBy(() -> new ConnectionLimits(1, 1, 129))
                .hasMessage("ipv6PrefixLength: 129 (expected: 1 to 128)");
    }

    @Test
    void bothOfTwoPoliciesHaveToAccept() throws Exception {
        AdmissionPolicy both = AddressAllowList.of("192.0.2.0/24").and(new ConnectionLimits(1, 1));

        assertThat(decide(both, ReceivedRequest.from("192.0.3.1")).reason())
                .isEqualTo("the address is not on the allow-list");
        assertThat(decide(both, ReceivedRequest.from("192.0.2.1")).isAccepted()).isTrue();
        assertThat(decide(both, ReceivedRequest.from("192.0.2.1")).reason())
                .isEqualTo("the server has its limit of connections");
    }

    @Test
    void theSecondPolicyIsNotAskedAfterAFailureOfTheFirst() throws Exception {
        AdmissionPolicy failing = request -> CompletableFuture.failedStage(new Exception("first"));
        CompletionStage<AdmissionDecision> decision =
                failing.and(
                                request -> {
                                    throw new AssertionError("asked");
                                })
                        .decide(ReceivedRequest.from("192.0.2.1"));

        assertThatThrownBy(() -> decision.toCompletableFuture().join())
                .isInstanceOf(CompletionException.class)
                .hasMessageContaining("first");
    }
}
