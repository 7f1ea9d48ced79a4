// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Public API that may change with any release, or go: a package with all that is in it, a type with all its members, or
 * a method. It is in the class files, for tools that compare versions or look for its users.
 */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.PACKAGE, ElementType.TYPE, ElementType.METHOD})
public @interface Experimental {}
