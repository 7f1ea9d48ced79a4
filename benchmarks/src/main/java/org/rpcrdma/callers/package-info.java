// SPDX-License-Identifier: Apache-2.0
/** One call and its answer, each by the typed layer and by hand, as two users of the library may write them. */
package org.rpcrdma.callers;
