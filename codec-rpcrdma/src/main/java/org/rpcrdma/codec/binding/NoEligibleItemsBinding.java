// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/**
 * Binding of programs that have none: nothing is eligible (RFC 8166, 6.1), and the size of a reply is unknown, except
 * that procedure 0 has no results by the custom of RPC (RFC 5531, 12).
 */
public final class NoEligibleItemsBinding implements UpperLayerBinding {

    /** The only instance. */
    public static final NoEligibleItemsBinding INSTANCE = new NoEligibleItemsBinding();

    private NoEligibleItemsBinding() {}

    @Override
    public int program() {
        return 0;
    }

    @Override
    public boolean covers(int version) {
        return true;
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return procedure == 0;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in) {
        // Nothing is eligible.
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in) {
        // Nothing is eligible.
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits) {
        if (procedure == 0) {
            limits.results(0);
        }
    }
}
