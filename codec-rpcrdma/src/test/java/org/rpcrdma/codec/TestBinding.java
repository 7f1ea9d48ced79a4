// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;

/**
 * A made-up program. Arguments of procedures 1 and 2, and all results: words up to 0; before each 1 an optional
 * eligible opaque is present, before each 2 an opaque that is not eligible.
 *
 * <p>Version 1 offers no sinks; version 2 offers {@value #SINKS} of {@value #SINK} bytes; other versions have no
 * binding. The results take as many bytes as the number of the procedure says, from 1000 on, else 2000.
 */
final class TestBinding implements UpperLayerBinding {

    static final int PROGRAM = 0x30000007;
    static final int SINK = 8000;
    static final int SINKS = 2;

    static final int END = 0;
    static final int ELIGIBLE = 1;
    static final int PLAIN = 2;

    private final int sinks;

    TestBinding() {
        this(SINKS);
    }

    TestBinding(int sinks) {
        this.sinks = sinks;
    }

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version == 1 || version == 2;
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return true;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        if (procedure <= 2) {
            walk(in);
        }
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        walk(in);
    }

    private static void walk(XdrCursor in) throws MalformedMessageException {
        for (int arm = in.int32(); arm != END; arm = in.int32()) {
            if (arm == ELIGIBLE) {
                in.eligibleOpaque(1 << 24);
            } else if (arm == PLAIN) {
                in.opaque(1 << 24);
            } else {
                throw MalformedMessageException.INSTANCE;
            }
        }
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits) {
        limits.results(procedure >= 100 ? procedure : 2000);
        for (int i = 0; version == 2 && i < sinks; i++) {
            limits.sink(SINK);
        }
    }
}
