// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.rpcrdma.verbs.VerbsContext;

/** Contexts over the {@link SoftwareLibrary}. Loaded by its name, by a JVM that can. */
final class SoftwareFfm implements SoftwareFfmProvider.Software {

    @Override
    public Throwable findMissing(FfmConfig config) {
        return FfmEntrance.findMissing(config, new SoftwareLibrary(true));
    }

    @Override
    public VerbsContext open(FfmConfig config) throws IOException {
        return open(config, true);
    }

    @Override
    public VerbsContext open(FfmConfig config, boolean hasWindows) throws IOException {
        FfmConfig chosen =
                new FfmConfig(
                        config.device(),
                        config.completions(),
                        config.registrationCache(),
                        config.resolveMillis(),
                        hasWindows);
        return FfmEntrance.open(chosen, () -> new SoftwareLibrary(hasWindows));
    }

    @Override
    public List<String> problems() {
        return SoftwareKernel.get().problems();
    }

    @Override
    public Map<String, Integer> living() {
        return SoftwareKernel.get().living();
    }
}
