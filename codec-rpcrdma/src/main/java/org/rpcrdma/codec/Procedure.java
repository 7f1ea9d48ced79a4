// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.GenericBinding;
import org.rpcrdma.codec.binding.MalformedXdrException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * The procedure that a call is for, and what its upper-layer binding knows of it (RFC 8166, 6). Used again for
 * later calls.
 */
final class Procedure {

    private UpperLayerBinding binding = GenericBinding.INSTANCE;
    private int version;
    private int number;
    private boolean isReducible;

    void of(RpcCallHeader rpc, BindingRegistry bindings) {
        binding = bindings.find(rpc.program(), rpc.version());
        version = rpc.version();
        number = rpc.procedure();
        isReducible = rpc.isReductionAllowed();
    }

    void clear() {
        binding = GenericBinding.INSTANCE;
        isReducible = false;
    }

    /** What the binding calls it; {@code null} when it does not. */
    String name() {
        return binding.procedureName(version, number);
    }

    /** What the binding of a call calls its procedure; {@code null} when it does not. */
    static String name(RpcCallHeader rpc, BindingRegistry bindings) {
        return bindings.find(rpc.program(), rpc.version())
                .procedureName(rpc.version(), rpc.procedure());
    }

    /** Whether the call is understood, and items may leave its payload stream and that of the reply (8.2.2). */
    boolean isReducible() {
        return isReducible;
    }

    /** How many items of a call may be in chunks, and how many of its reply. */
    int mostChunks(RpcRdmaConfig config) {
        return config.chunksPerCall(binding);
    }

    /** Finds the eligible arguments; {@code false} when they end too early. The cursor is released. */
    boolean walkArguments(XdrCursor in) {
        try {
            binding.walkArguments(version, number, in);
            return true;
        } catch (MalformedXdrException e) {
            return false;
        } finally {
            in.release();
        }
    }

    /** Finds the eligible results; {@code false} when they end too early. The cursor is released. */
    boolean walkResults(XdrCursor in) {
        try {
            binding.walkResults(version, number, in);
            return true;
        } catch (MalformedXdrException e) {
            return false;
        } finally {
            in.release();
        }
    }

    /** How long the reply can be; nothing is known of it when the arguments end too early. The cursor is released. */
    void limitResults(XdrCursor arguments, ReplyLimits limits) {
        try {
            binding.limitResults(version, number, arguments, limits);
        } catch (MalformedXdrException e) {
            limits.clear(); // the responder will say so
        } finally {
            arguments.release();
        }
    }
}
