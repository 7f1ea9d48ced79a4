// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.UnaryOperator;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.VerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/** The provider of the tests, whose devices say something else of themselves. */
final class ChangedDevice implements VerbsProvider {

    private final UnaryOperator<DeviceCapabilities.Builder> change;

    private ChangedDevice(UnaryOperator<DeviceCapabilities.Builder> change) {
        this.change = change;
    }

    static VerbsProvider of(UnaryOperator<DeviceCapabilities.Builder> change) {
        return new ChangedDevice(change);
    }

    @Override
    public String name() {
        return "changed";
    }

    @Override
    public int priority() {
        return 0;
    }

    @Override
    public Throwable unavailabilityCause() {
        return null;
    }

    @Override
    public VerbsContext open() throws IOException {
        VerbsContext context = Rdma.provider().open();
        DeviceCapabilities changed = change.apply(context.capabilities().toBuilder()).build();
        return (VerbsContext)
                Proxy.newProxyInstance(
                        VerbsContext.class.getClassLoader(),
                        new Class<?>[] {VerbsContext.class},
                        (proxy, method, arguments) -> {
                            if (method.getName().equals("capabilities")) {
                                return changed;
                            }
                            try {
                                return method.invoke(context, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
    }
}
