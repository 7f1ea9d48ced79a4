// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;

class CreditPolicyTest {

    /** A connection as a policy sees it. */
    private static final class Load implements ResponderConnectionLoad {
        int granted = 64;
        int unanswered;
        boolean reading = true;
        long pulled;
        long registered;

        @Override
        public int granted() {
            return granted;
        }

        @Override
        public int minimumCredits() {
            return 2;
        }

        @Override
        public int maximumCredits() {
            return 64;
        }

        @Override
        public int unansweredCalls() {
            return unanswered;
        }

        @Override
        public boolean isReading() {
            return reading;
        }

        @Override
        public long pulledBytes() {
            return pulled;
        }

        @Override
        public long maximumPulledBytes() {
            return 1000;
        }

        @Override
        public long registeredBytesInUse() {
            return registered;
        }

        @Override
        public long maximumRegisteredBytes() {
            return 1000;
        }
    }

    private final Load load = new Load();

    @Test
    @Proves("V1-CRED-06")
    void constantStaysWhereItIs() {
        CreditPolicy policy = CreditPolicy.constant();
        load.unanswered = 64;
        load.reading = false;
        assertThat(policy.credits(load)).isEqualTo(64);
    }

    @Test
    @Proves({"V1-CRED-07", "V1-CRED-05"})
    void shrinksByAQuarterAndGrowsByAnEighth() {
        CreditPolicy policy = CreditPolicy.adaptive(10);
        load.unanswered = 11;
        assertThat(policy.credits(load)).isEqualTo(48);
        load.granted = 2;
        assertThat(policy.credits(load)).isEqualTo(1); // the bounds are the connection's business
        load.unanswered = 10;
        assertThat(policy.credits(load)).isEqualTo(2);
        load.unanswered = 5;
        assertThat(policy.credits(load)).isEqualTo(3);
        load.granted = 48;
        assertThat(policy.credits(load)).isEqualTo(54);
    }

    @Test
    @Proves("V1-CRED-07")
    void followsTheQueueOfTheHandlers() {
        AtomicInteger queue = new AtomicInteger(100);
        CreditPolicy policy = CreditPolicy.adaptive(queue::get, 50);
        assertThat(policy.credits(load)).isEqualTo(48);
        queue.set(0);
        load.unanswered = 64;
        assertThat(policy.credits(load)).isEqualTo(72);
    }

    @Test
    void holdsBackWhenNobodyReadsOrMemoryIsShort() {
        CreditPolicy policy = CreditPolicy.adaptive(10);
        load.reading = false;
        assertThat(policy.credits(load)).isEqualTo(2);
        load.reading = true;
        load.pulled = 876;
        assertThat(policy.credits(load)).isEqualTo(2);
        load.pulled = 0;
        load.registered = 876;
        assertThat(policy.credits(load)).isEqualTo(2);
        load.registered = 875;
        assertThat(policy.credits(load)).isEqualTo(72);
    }

    /** The limit is that of all event loops together, so what is in use has to be, too. */
    @Test
    void memoryOfOtherLoopsCounts() throws Exception {
        int bytes = 8 << 20;
        try (RpcPair pair = RpcPair.of(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults())) {
            ByteBuf elsewhere =
                    RpcPair.on(
                            pair.clientChannel, () -> pair.clientChannel.registeredBuffer(bytes));
            long inUse =
                    RpcPair.on(
                            pair.serverChannel,
                            () ->
                                    pair.serverConnection()
                                            .responder()
                                            .grants()
                                            .registeredBytesInUse());
            assertThat(inUse).isGreaterThanOrEqualTo(bytes);
            elsewhere.release();
        }
    }

    @Test
    void limitsThatMakeNoSenseAreRefused() {
        assertThatThrownBy(() -> CreditPolicy.adaptive(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("limit");
    }
}
