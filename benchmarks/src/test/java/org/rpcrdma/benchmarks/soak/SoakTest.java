// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The soak for a moment, and that its checks find what they are for. */
class SoakTest {

    private static final int BYTES = 4096;

    @Test
    void nothingIsWrongInAShortRun() {
        assertThat(
                        new CommandLine(new Soak())
                                .execute(
                                        "--minutes=0.05",
                                        "--clients=8",
                                        "--streams=2",
                                        "--fault-seconds=0.2",
                                        "--longest-fault-seconds=1",
                                        "--pause-millis=10",
                                        "--slack-seconds=3600",
                                        "--seed=1"))
                .isZero();
    }

    @Test
    void eachWrongByteIsFound() {
        ByteBuf data = Unpooled.buffer(BYTES);
        Pattern.write(data, 7, BYTES);
        assertThat(Pattern.is(data, 0, 7, BYTES)).isTrue();
        assertThat(Pattern.is(data, 0, 8, BYTES)).isFalse();
        for (int i = 0; i < BYTES; i++) {
            data.setByte(i, data.getByte(i) ^ 1);
            assertThat(Pattern.is(data, 0, 7, BYTES)).isFalse();
            data.setByte(i, data.getByte(i) ^ 1);
        }
    }

    @Test
    void whatWasExecutedTwiceOrNeverIsKnown() {
        Ledger ledger = new Ledger();
        assertThat(ledger.isExecuted(3)).isFalse();
        ledger.execute(3);
        assertThat(ledger.isExecuted(3)).isTrue();
        assertThat(ledger.doubled()).isZero();
        ledger.execute(3);
        assertThat(ledger.doubled()).isEqualTo(1);
    }
}
