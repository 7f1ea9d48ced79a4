// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * A message could not be built or handed to the device (RFC 8166, 4.5.4): there was no memory to register, or code of
 * the user, such as a {@link org.rpcrdma.codec.rpc.CallMarshaller} or an upper-layer binding, has thrown the cause
 * of this exception. The message was not sent, and other calls are not affected. If the message was a reply, its call
 * is answered with SYSTEM_ERR (RFC 5531, 9).
 */
public final class MarshalException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    MarshalException(Throwable cause) {
        this("call", cause);
    }

    private MarshalException(String what, Throwable cause) {
        super(
                "the " + what + " could not be built: " + text(cause),
                cause instanceof FaultyUpperLayerBindingException ? cause.getCause() : cause);
    }

    /** The failure of a reply. */
    static MarshalException ofReply(Throwable cause) {
        return new MarshalException("reply", cause);
    }

    /** The failure of a call that could not be built: the cause itself if it is one of the transport's. */
    static Exception of(Throwable cause) {
        return cause instanceof RpcRdmaException || cause instanceof IllegalArgumentException
                ? (Exception) cause
                : new MarshalException(cause);
    }

    private static String text(Throwable cause) {
        return cause.getMessage() == null ? cause.toString() : cause.getMessage();
    }
}
