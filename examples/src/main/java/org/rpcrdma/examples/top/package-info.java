// SPDX-License-Identifier: Apache-2.0
/** What {@code rpcrdma top} shows: the meters of a server, read as Prometheus reads them. */
package org.rpcrdma.examples.top;
