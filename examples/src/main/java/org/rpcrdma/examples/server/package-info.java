// SPDX-License-Identifier: Apache-2.0
/** An NFSv3 and MOUNTv3 server (RFC 1813) on Hadoop's ONC RPC programs, over RDMA and over TCP. */
package org.rpcrdma.examples.server;
