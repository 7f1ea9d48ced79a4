// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TransportFlightEventsTest {

    @TempDir private Path directory;

    @Test
    void stallsAndRefusalsAreRecorded() throws Exception {
        try (Recording recording = new Recording()) {
            recording.start();
            TransportFlightEvents.stall(1, 2);
            TransportFlightEvents.memoryRefused(3, "why");
            recording.stop();
            Path file = directory.resolve("recording.jfr");
            recording.dump(file);
            List<RecordedEvent> events =
                    RecordingFile.readAllEvents(file).stream()
                            .filter(event -> event.getEventType().getName().startsWith("rdma."))
                            .toList();
            assertThat(events).hasSizeGreaterThanOrEqualTo(2);
            assertThat(events)
                    .anyMatch(
                            event ->
                                    event.getEventType().getName().equals("rdma.Stall")
                                            && event.getDuration("tasks").toNanos() == 2)
                    .anyMatch(
                            event ->
                                    event.getEventType().getName().equals("rdma.MemoryRefused")
                                            && event.getLong("size") == 3);
        }
    }
}
