// SPDX-License-Identifier: Apache-2.0
/** The commands of the {@code rpcrdma} launcher. */
package org.rpcrdma.examples;
