// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Names the rules of the conformance matrix that a test proves. */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface Proves {

    /** Ids such as {@code V1-CRED-09}. */
    String[] value();
}
