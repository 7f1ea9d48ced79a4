// SPDX-License-Identifier: Apache-2.0
/** The programs of the gallery whose frameworks are on Netty 4.2. */
package org.rpcrdma.examples.gallery42;
