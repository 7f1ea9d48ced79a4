// SPDX-License-Identifier: Apache-2.0
/** Short programs, one for each framework, with both ends in one process. */
package org.rpcrdma.examples.gallery;
