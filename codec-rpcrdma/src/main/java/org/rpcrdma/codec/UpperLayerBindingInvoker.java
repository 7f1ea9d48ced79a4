// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.NoEligibleItemsBinding;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * Procedure of a call, and its view by the upper-layer binding (RFC 8166, 6). Only this class calls bindings, which are
 * user code: it turns anything they throw, an {@link Error} included, into a {@link FaultyUpperLayerBindingException},
 * which fails one call. Reused for later calls.
 */
final class UpperLayerBindingInvoker {

    private UpperLayerBinding binding = NoEligibleItemsBinding.INSTANCE;

    /** Of the program and version, which calls of one connection usually share; {@code null} until looked up. */
    private UpperLayerBinding found;

    private int program;
    private int version;
    private int number;

    /** Whether the binding understands the call, and items of call and reply may be reduced (8.2.2). */
    boolean isReducible;

    /**
     * Looks up the binding, unless the call before was one to the same program and version.
     *
     * @param bindings the same for each call
     * @throws FaultyUpperLayerBindingException when a binding throws on the question whether it covers the version
     */
    void of(OncRpcHeaderDecoder rpc, BindingRegistry bindings)
            throws FaultyUpperLayerBindingException {
        clear();
        if (found == null || rpc.program != program || rpc.version != version) {
            found = null;
            found = find(rpc, bindings);
            program = rpc.program;
            version = rpc.version;
        }
        binding = found;
        number = rpc.procedure;
        isReducible = rpc.reductionAllowed;
    }

    private static UpperLayerBinding find(OncRpcHeaderDecoder rpc, BindingRegistry bindings)
            throws FaultyUpperLayerBindingException {
        try {
            return bindings.find(rpc.program, rpc.version);
        } catch (Throwable t) {
            String program = "covers, for program 0x" + Integer.toHexString(rpc.program);
            throw new FaultyUpperLayerBindingException(program, t);
        }
    }

    void clear() {
        binding = NoEligibleItemsBinding.INSTANCE;
        isReducible = false;
    }

    private FaultyUpperLayerBindingException failure(String method, Throwable thrown) {
        return new FaultyUpperLayerBindingException(
                binding.getClass().getName() + '.' + method, thrown);
    }

    /** Name of the procedure in its binding; {@code null} if unknown. */
    String name() {
        return name(binding, version, number);
    }

    /** Name of a call's procedure in its binding; {@code null} if unknown. */
    static String name(OncRpcHeaderDecoder rpc, BindingRegistry bindings) {
        try {
            return name(find(rpc, bindings), rpc.version, rpc.procedure);
        } catch (FaultyUpperLayerBindingException e) {
            UserExceptionLog.failed("an upper-layer binding", e);
            return null;
        }
    }

    /** Looks up a name; a binding that throws does not fail the call. */
    private static String name(UpperLayerBinding binding, int version, int number) {
        try {
            return binding.procedureName(version, number);
        } catch (Throwable t) {
            UserExceptionLog.failed(binding.getClass().getName() + ".procedureName", t);
            return null;
        }
    }

    /** Asks the binding whether the call is idempotent; {@code false} if it throws. Releases the cursor. */
    boolean evaluateIdempotence(XdrCursor arguments) {
        try {
            return binding.isIdempotent(version, number, arguments);
        } catch (MalformedMessageException e) {
            return false;
        } catch (Throwable t) {
            UserExceptionLog.failed(binding.getClass().getName() + ".isIdempotent", t);
            return false;
        } finally {
            arguments.release();
        }
    }

    /** The most items in chunks, for the call and for its reply. */
    int mostChunks(RpcRdmaConfig config) throws FaultyUpperLayerBindingException {
        try {
            return config.chunksPerCall(binding);
        } catch (Throwable t) {
            throw failure("chunksPerCall", t);
        }
    }

    /** Finds the eligible arguments; {@code false} if the arguments end too early. Releases the cursor. */
    boolean walkArguments(XdrCursor in) throws FaultyUpperLayerBindingException {
        try {
            binding.walkArguments(version, number, in);
            return true;
        } catch (MalformedMessageException e) {
            return false;
        } catch (Throwable t) {
            throw failure("walkArguments", t);
        } finally {
            in.release();
        }
    }

    /** Finds the eligible results; {@code false} if the results end too early. Releases the cursor. */
    boolean walkResults(XdrCursor in) throws FaultyUpperLayerBindingException {
        try {
            binding.walkResults(version, number, in);
            return true;
        } catch (MalformedMessageException e) {
            return false;
        } catch (Throwable t) {
            throw failure("walkResults", t);
        } finally {
            in.release();
        }
    }

    /** Sets the limits of the reply; unknown if the arguments end too early. Releases the cursor. */
    void limitResults(XdrCursor arguments, ReplyLimits limits)
            throws FaultyUpperLayerBindingException {
        try {
            binding.limitResults(version, number, arguments, limits);
        } catch (MalformedMessageException e) {
            limits.clear(); // the responder reports the error
        } catch (Throwable t) {
            throw failure("limitResults", t);
        } finally {
            arguments.release();
        }
    }
}
