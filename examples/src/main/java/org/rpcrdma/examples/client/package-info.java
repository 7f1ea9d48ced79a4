// SPDX-License-Identifier: Apache-2.0
/** An NFSv3 and MOUNTv3 client (RFC 1813). */
package org.rpcrdma.examples.client;
