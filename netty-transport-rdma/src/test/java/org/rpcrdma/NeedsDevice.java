// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Names flags of {@link org.rpcrdma.verbs.DeviceCapabilities} that a test is about: on a device without one of them it
 * is skipped.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@ExtendWith(NeedsDeviceCondition.class)
public @interface NeedsDevice {

    /** The names of the flags. */
    String[] value();
}
