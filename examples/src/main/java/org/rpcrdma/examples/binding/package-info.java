// SPDX-License-Identifier: Apache-2.0
/** How a program of one's own gets direct placement: one class, and one line in {@code META-INF/services}. */
package org.rpcrdma.examples.binding;
