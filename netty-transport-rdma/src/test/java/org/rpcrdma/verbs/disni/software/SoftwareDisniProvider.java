// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import java.io.IOException;
import java.net.InetAddress;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.disni.DisniConfig;
import org.rpcrdma.verbs.disni.DisniProvider;

/**
 * The DiSNI provider over the {@link SoftwareRdmaProvider}, under a name of its own: {@code
 * -Dorg.rpcrdma.provider=disni-software} lets whole test suites run on it.
 */
public final class SoftwareDisniProvider implements VerbsProvider {

    /** The name of this provider. */
    public static final String NAME = "disni-software";

    @Override
    public String name() {
        return NAME;
    }

    /** Below all others: taken only when it is named. */
    @Override
    public int priority() {
        return Integer.MIN_VALUE;
    }

    @Override
    public Throwable unavailabilityCause() {
        try {
            Class.forName("com.ibm.disni.verbs.RdmaProvider");
            return null;
        } catch (ClassNotFoundException e) {
            return e;
        }
    }

    @Override
    public EventLoopVerbsContext open() throws IOException {
        SoftwareRdmaProvider.install();
        DisniConfig defaults = DisniConfig.defaults();
        return new DisniProvider(
                        new DisniConfig(
                                // Where the tests are, so that they meet the addresses that
                                // they expect.
                                InetAddress.getLoopbackAddress(),
                                defaults.completions(),
                                defaults.registrationCache(),
                                defaults.resolveMillis()))
                .open();
    }

    @Override
    public String toString() {
        return NAME;
    }
}
