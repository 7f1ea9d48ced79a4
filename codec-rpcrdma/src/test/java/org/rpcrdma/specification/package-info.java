// SPDX-License-Identifier: Apache-2.0
/**
 * The protocol as its documents say it, in states and actions: it knows no code of this project, and the code does not
 * know it. {@code docs/simulation.md} says what it is for.
 */
package org.rpcrdma.specification;
