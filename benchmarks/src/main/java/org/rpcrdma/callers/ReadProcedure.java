// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.callers;

/** The call that both programs make: NFSv3 READ (RFC 1813, 3.3.6), in all its words. */
final class ReadProcedure {

    static final int PROGRAM = 100_003;
    static final int VERSION = 3;
    static final int NUMBER = 6;
    static final long HANDLE = 7;
    static final int HANDLE_BYTES = 8;
    static final int COUNT = 4096;

    private ReadProcedure() {}
}
