// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** Skips what {@link NeedsDevice} says the {@link Device} cannot do. */
public final class NeedsDeviceCondition implements ExecutionCondition {

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        NeedsDevice needs =
                AnnotationSupport.findAnnotation(context.getElement(), NeedsDevice.class)
                        .orElse(null);
        if (needs == null) {
            return ConditionEvaluationResult.enabled("needs nothing");
        }
        for (String flag : needs.value()) {
            if (!Device.can(flag)) {
                return ConditionEvaluationResult.disabled("the device has no " + flag);
            }
        }
        return ConditionEvaluationResult.enabled("the device has all flags");
    }
}
