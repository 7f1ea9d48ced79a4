// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.nio.channels.ClosedChannelException;

/**
 * The channel was closed before the call could be sent, for example while it waited for a credit: the responder has
 * not seen it.
 */
final class CallNotSentException extends ClosedChannelException {

    private static final long serialVersionUID = 1L;
}
