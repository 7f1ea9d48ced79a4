// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/**
 * Callbacks of NFS version 4 on RPC-over-RDMA (RFC 8267, 6.5): nothing is eligible. The client chooses the program
 * number when it makes the session (RFC 8881, 18.36), so there can be one binding for each number.
 */
public final class Nfs4CallbackBinding implements UpperLayerBinding {

    private static final ProcedureNames NAMES = new ProcedureNames("NFSv4", "CB_NULL CB_COMPOUND");

    /** The program number that most clients choose, the first of the transient ones (RFC 5531, 8.3). */
    public static final int PROGRAM = 0x40000000;

    private static final int NULL = 0;
    private static final int COMPOUND = 1;

    /** Number, status and results of a callback operation; those of CB_GETATTR are the longest. */
    private static final int OPERATION = 4 + 4 + 120;

    private final int program;

    /** For the {@linkplain #PROGRAM usual} program number. */
    public Nfs4CallbackBinding() {
        this(PROGRAM);
    }

    /**
     * For a program number.
     *
     * @param program unsigned, as in CREATE_SESSION or SETCLIENTID
     */
    public Nfs4CallbackBinding(int program) {
        this.program = program;
    }

    @Override
    public int program() {
        return program;
    }

    /** Version 1 by the protocol (RFC 7531, RFC 5662); Linux takes 4 as well. */
    @Override
    public boolean covers(int version) {
        return version == 1 || version == 4;
    }

    @Override
    public String procedureName(int version, int procedure) {
        return NAMES.of(procedure);
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return procedure == NULL;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in) {
        // RFC 8267, 6.5: no argument is eligible.
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in) {
        // RFC 8267, 6.5: no result is eligible.
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits)
            throws MalformedMessageException {
        if (procedure != COMPOUND) {
            limits.results(0);
            return;
        }
        int start = arguments.mark();
        Nfs4XdrTypes.string(arguments);
        limits.results(4 + (arguments.mark() - start) + 4); // status, the tag again, the count
        arguments.skip(4 + 4); // minor version, callback_ident
        limits.results((long) OPERATION * arguments.count(4));
    }
}
