// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/**
 * NFS version 4, all minor versions, on RPC-over-RDMA (RFC 8267, 6). Eligible are the data of WRITE and READ, and the
 * link text of CREATE and READLINK, in the order of the operations. A walk ends without complaint at an operation that
 * is not known here: what was found before counts, nothing after it is eligible.
 */
public final class Nfs4Binding implements UpperLayerBinding {

    /** The program number of NFS. */
    public static final int PROGRAM = 100003;

    private static final int VERSION = 4;
    private static final int NULL = 0;
    private static final int COMPOUND = 1;
    private static final int NFS4_OK = 0;

    private static final ProcedureNames NAMES = new ProcedureNames("NFSv4", "NULL COMPOUND");

    /** Has no state: one serves any number of registries. */
    public Nfs4Binding() {}

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version == VERSION;
    }

    @Override
    public String procedureName(int version, int procedure) {
        return NAMES.of(procedure);
    }

    /** Servers have limits that nothing tells a client of (RFC 8267, 6.4.2). */
    @Override
    public int chunksPerCall() {
        return 1;
    }

    /** A COMPOUND is idempotent when each of its operations is; one that begins with SEQUENCE never is. */
    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments)
            throws MalformedMessageException {
        if (procedure != COMPOUND) {
            return procedure == NULL;
        }
        for (int left = operations(arguments); left > 0; left--) {
            int operation = arguments.int32();
            if (!Nfs4OperationNumbers.isIdempotent(operation)
                    || !Nfs4OperationArgumentsParser.skip(operation, arguments)) {
                return false;
            }
        }
        return true;
    }

    /** Tag and minor version, then the number of operations. */
    private static int operations(XdrCursor in) throws MalformedMessageException {
        Nfs4XdrTypes.string(in);
        in.skip(4);
        return in.count(4);
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        if (procedure != COMPOUND) {
            return;
        }
        for (int left = operations(in); left > 0; left--) {
            if (!Nfs4OperationArgumentsParser.skip(in.int32(), in)) {
                return;
            }
        }
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        if (procedure != COMPOUND) {
            return;
        }
        in.skip(4); // the status of the last operation
        Nfs4XdrTypes.string(in);
        for (int left = in.count(4 + 4); left > 0; left--) {
            int operation = in.int32();
            // A COMPOUND ends with the first operation that fails (RFC 8881, 2.3).
            if (in.int32() != NFS4_OK || !Nfs4ResultWalker.skip(operation, in)) {
                return;
            }
        }
    }

    /**
     * The sum over the operations; {@linkplain ReplyLimits#unbounded unbounded} when one asks for attributes without a
     * bound or is not known. READs get sinks, but not beside an operation whose results a Linux server puts into a
     * Write chunk in a way that nobody expects: they would take one that a READ of no bytes leaves to them.
     */
    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits)
            throws MalformedMessageException {
        if (procedure != COMPOUND) {
            limits.results(0); // NULL, or answered with PROC_UNAVAIL
            return;
        }
        int start = arguments.mark();
        Nfs4XdrTypes.string(arguments);
        limits.results(4 + (arguments.mark() - start) + 4); // status, the tag again, the count
        arguments.skip(4);
        boolean offersSinks = true;
        for (int left = arguments.count(4); left > 0; left--) {
            int operation = arguments.int32();
            limits.results(4 + 4);
            if (Nfs4OperationNumbers.isMisplaced(operation)) {
                offersSinks = false;
                limits.withoutSinks();
            }
            Nfs4OperationReplyLimits.add(operation, arguments, limits, offersSinks);
            if (!Nfs4OperationArgumentsParser.skip(operation, arguments)) {
                limits.unbounded();
                return;
            }
        }
    }
}
