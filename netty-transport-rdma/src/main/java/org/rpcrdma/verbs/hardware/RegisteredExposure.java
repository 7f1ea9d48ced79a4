// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/**
 * Exposure by the key of a registration: a separate one, or that of the region, which outlives the exposure
 * because other connections use it.
 */
final class RegisteredExposure extends HardwareExposure {

    private final MemoryRegistrar registrations;
    private final NativeRegion registration;
    private final boolean isShared;

    RegisteredExposure(MemoryRegistrar registrations, NativeRegion registration, boolean isShared) {
        this.registrations = registrations;
        this.registration = registration;
        this.isShared = isShared;
    }

    @Override
    int key() {
        return registration.remoteKey();
    }

    @Override
    void revoke() {
        if (!isShared) {
            registrations.deregister(registration);
        }
    }
}
