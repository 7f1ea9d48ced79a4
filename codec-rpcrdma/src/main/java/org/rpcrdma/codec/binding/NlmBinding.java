// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/** The Network Lock Manager of NFS versions 2 and 3 (RFC 1813, appendix II): nothing is eligible. */
public final class NlmBinding implements UpperLayerBinding {

    /** The program number of NLM. */
    public static final int PROGRAM = 100021;

    private static final int NULL = 0;
    private static final int TEST = 1;
    private static final int LOCK = 2;
    private static final int GRANTED = 5;
    private static final int SHARE = 20;
    private static final int UNSHARE = 21;
    private static final int NM_LOCK = 22;

    /** An opaque of at most 1024 bytes. */
    private static final int NETOBJ = 4 + 1024;

    /** Cookie and status. */
    private static final int RESULT = NETOBJ + 4;

    /** Whether exclusive, process, owner, offset and length. */
    private static final int HOLDER = 4 + 4 + NETOBJ + 8 + 8;

    private static final ProcedureNames NAMES =
            new ProcedureNames(
                    "NLM",
                    "NULL TEST LOCK CANCEL UNLOCK GRANTED TEST_MSG LOCK_MSG CANCEL_MSG "
                            + "UNLOCK_MSG GRANTED_MSG TEST_RES LOCK_RES CANCEL_RES UNLOCK_RES "
                            + "GRANTED_RES - - - - SHARE UNSHARE NM_LOCK FREE_ALL");

    /** Has no state: one serves any number of registries. */
    public NlmBinding() {}

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version == 1 || version == 3 || version == 4;
    }

    @Override
    public String procedureName(int version, int procedure) {
        return NAMES.of(procedure);
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return procedure == NULL || procedure == TEST;
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
        if (procedure == TEST) {
            limits.results(RESULT + HOLDER);
        } else if ((procedure >= LOCK && procedure <= GRANTED) || procedure == NM_LOCK) {
            limits.results(RESULT);
        } else if (procedure == SHARE || procedure == UNSHARE) {
            limits.results(RESULT + 4);
        } else {
            limits.results(0); // asynchronous procedures have no results
        }
    }
}
