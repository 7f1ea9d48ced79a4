// SPDX-License-Identifier: Apache-2.0
/** Hadoop's own NFS gateway, on RDMA. Internal. */
package org.rpcrdma.examples.hdfs;
