// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestPlan;

/**
 * Has Awaitility look at once and then every millisecond. Its default, to sleep for 100 ms before the first look, is
 * most of the time of a test that cuts a connection at each of a hundred places. It looks in the thread that waits: by
 * default it begins one for each wait, of which such a test has thousands. JUnit's bound of a test ends a look that
 * hangs.
 *
 * <p>Registered as a service.
 */
public final class PromptPolling implements TestExecutionListener {

    @Override
    public void testPlanExecutionStarted(TestPlan testPlan) {
        Awaitility.setDefaultPollDelay(Duration.ZERO);
        Awaitility.setDefaultPollInterval(Duration.ofMillis(1));
        Awaitility.pollInSameThread();
    }
}
