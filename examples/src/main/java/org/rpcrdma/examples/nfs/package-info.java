// SPDX-License-Identifier: Apache-2.0
/** What both ends of NFSv3 have in common (RFC 1813, 2). */
package org.rpcrdma.examples.nfs;
