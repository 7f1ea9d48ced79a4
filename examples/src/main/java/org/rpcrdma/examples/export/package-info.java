// SPDX-License-Identifier: Apache-2.0
/**
 * A local directory as NFS sees it: file handles that survive a restart, and paths that cannot leave the directory.
 */
package org.rpcrdma.examples.export;
