// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/** The MOUNT protocol (RFC 1813, appendix I): nothing is eligible, and lists have no bound. */
public final class MountBinding implements UpperLayerBinding {

    /** The program number of MOUNT. */
    public static final int PROGRAM = 100005;

    private static final int NULL = 0;
    private static final int MNT = 1;
    private static final int DUMP = 2;
    private static final int UMNT = 3;
    private static final int UMNTALL = 4;
    private static final int EXPORT = 5;

    /** Status, file handle, and a list of authentication flavors far longer than there are flavors. */
    private static final int MNT_BYTES = 4 * (1 + 17 + 1 + 64);

    private static final ProcedureNames NAMES =
            new ProcedureNames("MOUNT", "NULL MNT DUMP UMNT UMNTALL EXPORT");

    /** Has no state: one serves any number of registries. */
    public MountBinding() {}

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version >= 1 && version <= 3;
    }

    @Override
    public String procedureName(int version, int procedure) {
        return NAMES.of(procedure);
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return procedure == NULL || procedure == MNT || procedure == DUMP || procedure == EXPORT;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in) {
        // No argument is eligible.
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in) {
        // No result is eligible.
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits) {
        switch (procedure) {
            case NULL, UMNT, UMNTALL -> limits.results(0);
            case MNT -> limits.results(MNT_BYTES);
            default -> {
                // DUMP and EXPORT return lists: the configured default has to do.
            }
        }
    }
}
