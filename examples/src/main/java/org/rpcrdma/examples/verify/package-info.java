// SPDX-License-Identifier: Apache-2.0
/** What a device has to do for this transport, and how fast it does it. */
package org.rpcrdma.examples.verify;
