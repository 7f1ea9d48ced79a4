// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/**
 * Settings that providers of hardware share.
 *
 * @param prefix of its system properties, for messages: {@code org.rpcrdma.disni.}
 * @param chooser what follows the prefix in the name of the one that chooses the device
 * @param registrationCache bytes of memory outside of the transport's pools that stay registered for local use after a
 *     work request, per event loop; 0 for none
 * @param resolveMillis how long the resolution of an address, and of a route, may take
 */
public record ProviderSettings(
        String prefix, String chooser, long registrationCache, int resolveMillis) {}
