// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BusyTcpPollSetTest {

    private final BusyTcpPollSet hot = new BusyTcpPollSet();

    private final class Stream implements BusyTcpPollSet.Stream {
        int polled;
        boolean hasBytes = true;
        Stream ends;
        Error error;
        Exception failure;

        @Override
        public boolean poll() {
            polled++;
            if (ends != null) {
                hot.remove(ends);
            }
            if (error != null) {
                throw error;
            }
            return hasBytes;
        }

        @Override
        public void failed(Exception cause) {
            failure = cause;
            hot.remove(this);
        }
    }

    private List<Stream> busy(int count) {
        List<Stream> streams = IntStream.range(0, count).mapToObj(i -> new Stream()).toList();
        streams.forEach(hot::add);
        return streams;
    }

    /** How many of so many polls did not ask the selector. */
    private int withoutSelector(int polls) {
        return (int) IntStream.range(0, polls).filter(i -> hot.poll()).count();
    }

    @Test
    void whoeverIsAloneIsLeftToTheSelector() {
        assertThat(hot.isEmpty()).isTrue();
        assertThat(withoutSelector(10)).isZero();
    }

    @Test
    void aFewAreReadAndTheSelectorIsAskedNowAndThen() {
        List<Stream> streams = busy(BusyTcpPollSet.MAX);
        hot.add(streams.get(0));
        assertThat(withoutSelector(4 * BusyTcpPollSet.POLLS_PER_SELECT))
                .isEqualTo(4 * (BusyTcpPollSet.POLLS_PER_SELECT - 1));
        assertThat(streams)
                .extracting(stream -> stream.polled)
                .containsOnly(4 * (BusyTcpPollSet.POLLS_PER_SELECT - 1));
    }

    /** Otherwise the first four of many would be read three times as often as the others. */
    @Test
    void ofManyNoneIsPreferred() {
        List<Stream> streams = busy(BusyTcpPollSet.MAX + 1);
        assertThat(hot.isEmpty()).isTrue();
        for (int i = 0; i < BusyTcpPollSet.CROWDED_POLLS; i++) {
            hot.add(streams.get(i % streams.size()));
            assertThat(hot.poll()).isFalse();
        }
        assertThat(streams).extracting(stream -> stream.polled).containsOnly(0);
        // Whether there are still so many is found out again.
        hot.add(streams.get(0));
        assertThat(hot.poll()).isTrue();
        assertThat(streams.get(0).polled).isEqualTo(1);
    }

    @Test
    void whoHasNothingAnyMoreIsNotReadAnyMore() {
        List<Stream> streams = busy(2);
        streams.get(0).hasBytes = false;
        withoutSelector(2 * BusyTcpPollSet.COLD_AFTER);
        assertThat(streams.get(0).polled).isEqualTo(BusyTcpPollSet.COLD_AFTER + 1);
        assertThat(hot.isEmpty()).isFalse();
        streams.get(1).hasBytes = false;
        withoutSelector(2 * BusyTcpPollSet.COLD_AFTER);
        assertThat(hot.isEmpty()).isTrue();
    }

    @Test
    void aStreamMayEndAnotherOneOrItself() {
        List<Stream> streams = busy(3);
        streams.get(2).ends = streams.get(2);
        streams.get(1).ends = streams.get(0);
        assertThat(withoutSelector(3)).isEqualTo(3);
        assertThat(streams.get(0).polled).isZero();
        assertThat(streams.get(1).polled).isGreaterThanOrEqualTo(3);
        assertThat(streams.get(2).polled).isEqualTo(1);
    }

    @Test
    void aStreamThatFailsIsToldAndTheOthersAreRead() {
        List<Stream> streams = busy(3);
        streams.get(1).error = new OutOfMemoryError("no heap");
        assertThat(withoutSelector(3)).isEqualTo(3);
        assertThat(streams.get(1).failure).hasMessage("No memory is left: no heap");
        assertThat(streams).extracting(stream -> stream.polled).containsExactly(3, 1, 3);
    }
}
