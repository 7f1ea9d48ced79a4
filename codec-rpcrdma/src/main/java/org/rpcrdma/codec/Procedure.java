// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.GenericBinding;
import org.rpcrdma.codec.binding.MalformedXdrException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.internal.UserCode;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * The procedure that a call is for, and what its upper-layer binding knows of it (RFC 8166, 6). Bindings are code of
 * users, and nobody else calls them: whatever one throws, an {@link Error} included, is a {@link BindingException} from
 * here on, and fails the one call. Used again for later calls.
 */
final class Procedure {

    private UpperLayerBinding binding = GenericBinding.INSTANCE;
    private int version;
    private int number;
    private boolean isReducible;

    /**
     * Looks the binding up.
     *
     * @throws BindingException when one does not say whether it covers the version
     */
    void of(RpcCallHeader rpc, BindingRegistry bindings) throws BindingException {
        clear();
        binding = find(rpc, bindings);
        version = rpc.version();
        number = rpc.procedure();
        isReducible = rpc.isReductionAllowed();
    }

    private static UpperLayerBinding find(RpcCallHeader rpc, BindingRegistry bindings)
            throws BindingException {
        try {
            return bindings.find(rpc.program(), rpc.version());
        } catch (Throwable t) {
            String program = "covers, for program 0x" + Integer.toHexString(rpc.program());
            throw new BindingException(program, t);
        }
    }

    void clear() {
        binding = GenericBinding.INSTANCE;
        isReducible = false;
    }

    private BindingException failure(String method, Throwable thrown) {
        return new BindingException(binding.getClass().getName() + '.' + method, thrown);
    }

    /** What the binding calls it; {@code null} when it does not. */
    String name() {
        return name(binding, version, number);
    }

    /** What the binding of a call calls its procedure; {@code null} when it does not. */
    static String name(RpcCallHeader rpc, BindingRegistry bindings) {
        try {
            return name(find(rpc, bindings), rpc.version(), rpc.procedure());
        } catch (BindingException e) {
            UserCode.failed("an upper-layer binding", e);
            return null;
        }
    }

    /** A call does not fail for want of its name. */
    private static String name(UpperLayerBinding binding, int version, int number) {
        try {
            return binding.procedureName(version, number);
        } catch (Throwable t) {
            UserCode.failed(binding.getClass().getName() + ".procedureName", t);
            return null;
        }
    }

    /** Whether the call is understood, and items may leave its payload stream and that of the reply (8.2.2). */
    boolean isReducible() {
        return isReducible;
    }

    /** Whether the call may be executed twice; a binding that throws is not certain of it. The cursor is released. */
    boolean isIdempotent(XdrCursor arguments) {
        try {
            return binding.isIdempotent(version, number, arguments);
        } catch (MalformedXdrException e) {
            return false;
        } catch (Throwable t) {
            UserCode.failed(binding.getClass().getName() + ".isIdempotent", t);
            return false;
        } finally {
            arguments.release();
        }
    }

    /** How many items of a call may be in chunks, and how many of its reply. */
    int mostChunks(RpcRdmaConfig config) throws BindingException {
        try {
            return config.chunksPerCall(binding);
        } catch (Throwable t) {
            throw failure("chunksPerCall", t);
        }
    }

    /** Finds the eligible arguments; {@code false} when they end too early. The cursor is released. */
    boolean walkArguments(XdrCursor in) throws BindingException {
        try {
            binding.walkArguments(version, number, in);
            return true;
        } catch (MalformedXdrException e) {
            return false;
        } catch (Throwable t) {
            throw failure("walkArguments", t);
        } finally {
            in.release();
        }
    }

    /** Finds the eligible results; {@code false} when they end too early. The cursor is released. */
    boolean walkResults(XdrCursor in) throws BindingException {
        try {
            binding.walkResults(version, number, in);
            return true;
        } catch (MalformedXdrException e) {
            return false;
        } catch (Throwable t) {
            throw failure("walkResults", t);
        } finally {
            in.release();
        }
    }

    /** How long the reply can be; nothing is known of it when the arguments end too early. The cursor is released. */
    void limitResults(XdrCursor arguments, ReplyLimits limits) throws BindingException {
        try {
            binding.limitResults(version, number, arguments, limits);
        } catch (MalformedXdrException e) {
            limits.clear(); // the responder will say so
        } catch (Throwable t) {
            throw failure("limitResults", t);
        } finally {
            arguments.release();
        }
    }
}
