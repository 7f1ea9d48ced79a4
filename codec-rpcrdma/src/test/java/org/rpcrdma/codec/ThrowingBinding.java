// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.concurrent.atomic.AtomicReference;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;

/** The program of {@link BlobBinding} with a binding that throws where it is told to, once each time. */
final class ThrowingBinding implements UpperLayerBinding {

    enum Method {
        COVERS,
        CHUNKS,
        LIMIT,
        ARGUMENTS,
        RESULTS,
        IDEMPOTENT,
        NAME
    }

    private record Plan(Method method, Throwable thrown) {}

    private final BlobBinding binding = new BlobBinding();
    private final AtomicReference<Plan> plan = new AtomicReference<>();

    /** The next time that it is asked for that. */
    void fail(Method method, Throwable thrown) {
        plan.set(new Plan(method, thrown));
    }

    /** Whether it has thrown. */
    boolean hasFailed() {
        return plan.get() == null;
    }

    private void at(Method method) {
        Plan now = plan.get();
        if (now != null && now.method == method && plan.compareAndSet(now, null)) {
            ThrowingBinding.<RuntimeException>raise(now.thrown);
        }
    }

    /** Whatever it is, as code may that was not written in Java. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals", "DoNotCallSuggester"})
    static <T extends Throwable> void raise(Throwable thrown) throws T {
        throw (T) thrown;
    }

    @Override
    public int program() {
        return BlobBinding.PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        at(Method.COVERS);
        return binding.covers(version);
    }

    @Override
    public String procedureName(int version, int procedure) {
        at(Method.NAME);
        return "Blob";
    }

    @Override
    public int chunksPerCall() {
        at(Method.CHUNKS);
        return binding.chunksPerCall();
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        at(Method.IDEMPOTENT);
        return binding.isIdempotent(version, procedure, arguments);
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        at(Method.ARGUMENTS);
        binding.walkArguments(version, procedure, in);
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        at(Method.RESULTS);
        binding.walkResults(version, procedure, in);
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits)
            throws MalformedMessageException {
        at(Method.LIMIT);
        binding.limitResults(version, procedure, arguments, limits);
    }
}
