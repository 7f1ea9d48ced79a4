// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/** The key is that of a registration: one of its own, or the region's, which stays because other connections use it. */
final class RegisteredExposure extends Exposure {

    private final Registrations registrations;
    private final NativeRegion registration;
    private final boolean isShared;

    RegisteredExposure(Registrations registrations, NativeRegion registration, boolean isShared) {
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
