// SPDX-License-Identifier: Apache-2.0
/**
 * The provider {@code ffm}: RDMA hardware through libibverbs and librdmacm, which the JDK itself calls from Java 22 on.
 * What is for Java 22 is in {@code src/main/java22}.
 *
 * <p>Internal, but for {@link org.rpcrdma.verbs.ffm.Ffm}, which is experimental.
 */
package org.rpcrdma.verbs.ffm;
