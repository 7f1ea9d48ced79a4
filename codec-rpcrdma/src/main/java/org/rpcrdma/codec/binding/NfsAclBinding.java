// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/**
 * The NFSACL side-band protocol on RPC-over-RDMA (RFC 8267, 5.2): nothing is eligible; an ACL comes in a Reply chunk.
 */
public final class NfsAclBinding implements UpperLayerBinding {

    /** The program number of NFSACL. */
    public static final int PROGRAM = 100227;

    private static final int NULL = 0;
    private static final int GETACL = 1;
    private static final int SETACL = 2;
    private static final int GETATTR = 3;
    private static final int ACCESS = 4;

    /** Status and optional attributes. */
    private static final int ATTRIBUTES = 4 * (1 + 22);

    /** Two lists of 1024 entries of three words fit; it is also what Linux allows for. */
    private static final int ACL = 28672;

    private static final ProcedureNames NAMES =
            new ProcedureNames("NFSACL", "NULL GETACL SETACL GETATTR ACCESS");

    /** Has no state: one serves any number of registries. */
    public NfsAclBinding() {}

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version == 2 || version == 3;
    }

    @Override
    public String procedureName(int version, int procedure) {
        return NAMES.of(procedure);
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return procedure == NULL
                || procedure == GETACL
                || procedure == GETATTR
                || procedure == ACCESS;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in) {
        // RFC 8267, 5.2: no argument is eligible.
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in) {
        // RFC 8267, 5.2: no result is eligible.
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits) {
        switch (procedure) {
            case NULL -> limits.results(0);
            case GETACL -> limits.results(ATTRIBUTES + 4 + ACL);
            case SETACL, GETATTR -> limits.results(ATTRIBUTES);
            case ACCESS -> limits.results(ATTRIBUTES + 4);
            default -> limits.results(0); // answered with PROC_UNAVAIL
        }
    }
}
