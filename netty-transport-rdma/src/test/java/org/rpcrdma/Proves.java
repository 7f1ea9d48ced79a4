// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Names the rules of the conformance matrix that a test proves: it would fail if one of them were broken. */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Proves {

    /** Ids such as {@code V1-CRED-09}. */
    String[] value();
}
