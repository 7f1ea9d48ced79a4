// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/** Contexts over the {@link SoftwareLibrary}. Loaded by its name, by a JVM that can. */
final class SoftwareFfm implements SoftwareFfmProvider.Software {

    @Override
    public Throwable findMissing(FfmConfig config) {
        return FfmProviderFactory.findMissing(
                config, new SoftwareLibrary(SoftwareKernel.Kind.IWARP, true));
    }

    @Override
    public EventLoopVerbsContext open(FfmConfig config) throws IOException {
        return open(config, false, true);
    }

    @Override
    public EventLoopVerbsContext open(FfmConfig config, boolean isRoce, boolean hasWindows)
            throws IOException {
        FfmConfig chosen =
                new FfmConfig(
                        config.device(),
                        config.completions(),
                        config.registrationCache(),
                        config.resolveMillis(),
                        hasWindows);
        return FfmProviderFactory.open(
                chosen,
                () ->
                        new SoftwareLibrary(
                                isRoce ? SoftwareKernel.Kind.ROCE : SoftwareKernel.Kind.IWARP,
                                hasWindows));
    }

    @Override
    public List<String> problems() {
        return SoftwareKernel.all().stream().flatMap(kernel -> kernel.problems().stream()).toList();
    }

    @Override
    public Map<String, Integer> living() {
        Map<String, Integer> living = new TreeMap<>();
        SoftwareKernel.all()
                .forEach(
                        kernel ->
                                kernel.living()
                                        .forEach((k, n) -> living.merge(k, n, Integer::sum)));
        return living;
    }
}
