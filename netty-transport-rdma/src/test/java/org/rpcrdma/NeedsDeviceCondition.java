// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import java.io.IOException;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.VerbsContext;

/** Asks the device that event loops take when none is named to them. */
public final class NeedsDeviceCondition implements ExecutionCondition {

    private static DeviceCapabilities capabilities;

    private static synchronized DeviceCapabilities capabilities() {
        if (capabilities == null) {
            try (VerbsContext context = Rdma.provider().open()) {
                capabilities = context.capabilities();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
        return capabilities;
    }

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        NeedsDevice needs =
                AnnotationSupport.findAnnotation(context.getElement(), NeedsDevice.class)
                        .orElse(null);
        if (needs == null) {
            return ConditionEvaluationResult.enabled("needs nothing");
        }
        for (String flag : needs.value()) {
            if (!hasFlag(flag)) {
                return ConditionEvaluationResult.disabled("the device has no " + flag);
            }
        }
        return ConditionEvaluationResult.enabled("the device has all flags");
    }

    private static boolean hasFlag(String name) {
        try {
            return (boolean) DeviceCapabilities.class.getMethod(name).invoke(capabilities());
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("no flag of DeviceCapabilities: " + name, e);
        }
    }
}
