// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.verify;

import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import org.rpcrdma.verbs.VerbsProvider;

/** What a device has to do for this transport, between two event loops of this machine. */
public final class DeviceChecks implements AutoCloseable {

    /** What has come of a check. */
    public enum Outcome {
        PASSED,
        FAILED,
        /** The device cannot do what is checked, and says so. */
        DOES_NOT_APPLY
    }

    /** Hears of each check. */
    public interface Report {

        /**
         * @param failure one sentence, {@code null} when there is none
         */
        void outcome(String check, Outcome outcome, String failure);
    }

    private final Ends ends;
    private final List<Checks> kinds;

    /**
     * Opens the device twice, and listens.
     *
     * @param address one that belongs to the device
     * @throws IOException when the device cannot be opened, or the address is not its own
     */
    public DeviceChecks(VerbsProvider provider, InetAddress address) throws IOException {
        ends = new Ends(provider, address);
        kinds = List.of(new DataChecks(ends), new ConnectionChecks(ends, address));
    }

    /**
     * Runs all checks.
     *
     * @return how many have failed
     */
    public int run(Report report) {
        int failed = 0;
        for (Checks kind : kinds) {
            for (Checks.Check check : kind.all()) {
                if (!check.applies().test(kind.can)) {
                    report.outcome(check.name(), Outcome.DOES_NOT_APPLY, null);
                    continue;
                }
                String failure = null;
                try {
                    check.body().run();
                } catch (IOException | RuntimeException e) {
                    failure = e.getMessage() == null ? e.toString() : e.getMessage();
                    failed++;
                }
                ends.closeAll();
                report.outcome(
                        check.name(), failure == null ? Outcome.PASSED : Outcome.FAILED, failure);
            }
        }
        return failed;
    }

    @Override
    public void close() {
        ends.close();
    }
}
