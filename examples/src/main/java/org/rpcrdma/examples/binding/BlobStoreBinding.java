// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.binding;

import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;

/**
 * The upper-layer binding (RFC 8166, 6) of a program that keeps blobs by name. Blobs are large, opaque and of a known
 * size, so they are eligible for direct placement; names are not. In the XDR language:
 *
 * <pre>
 * typedef string name&lt;255&gt;;
 * struct put_args { name key; unsigned int mode; opaque blob&lt;4194304&gt;; };
 * struct get_args { name key; unsigned int maximum; };
 * union get_res switch (int status) { case 0: opaque blob&lt;4194304&gt;; default: void; };
 *
 * program BLOB_STORE { version BLOB_STORE_V1 {
 *     void    NULL(void)    = 0;
 *     int     PUT(put_args) = 1;
 *     get_res GET(get_args) = 2;
 *     int     DROP(name)    = 3;
 * } = 1; } = 0x20B10B00;
 * </pre>
 */
public final class BlobStoreBinding implements UpperLayerBinding {

    /** From the numbers that every site may give out itself (RFC 5531, 8.3). */
    public static final int PROGRAM = 0x20B10B00;

    public static final int VERSION = 1;

    public static final int NULL = 0;
    public static final int PUT = 1;
    public static final int GET = 2;
    public static final int DROP = 3;

    public static final int OK = 0;
    public static final int NO_SUCH_KEY = 1;

    public static final int KEY_MAX = 255;
    public static final int BLOB_MAX = 4 << 20;

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version == VERSION;
    }

    /** The same PUT twice stores the same blob; a second DROP would find nothing. */
    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return procedure == NULL || procedure == PUT || procedure == GET;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        if (procedure == PUT) {
            in.opaque(KEY_MAX);
            in.skip(4); // mode
            in.eligibleOpaque(BLOB_MAX);
        }
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        if (procedure == GET && in.int32() == OK) {
            in.eligibleOpaque(BLOB_MAX);
        }
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits)
            throws MalformedMessageException {
        switch (procedure) {
            case PUT, DROP -> limits.results(4); // status
            case GET -> {
                arguments.opaque(KEY_MAX);
                limits.results(4 + 4); // status, and the count of the blob
                limits.sink(Math.min(BLOB_MAX, arguments.uint32()));
            }
            default -> limits.results(0);
        }
    }
}
