// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import java.util.Objects;
import java.util.concurrent.Executor;

/** A program (RFC 5531, 8.1) with its versions and their procedures, for an {@link RpcServerHandler}. Immutable. */
public final class RpcProgram {

    private static final int NULL = 0;

    private final int program;
    private final IntObjectMap<IntObjectMap<RpcProcedureHandler>> versions;
    private final int low;
    private final int high;
    private final Executor executor;

    private RpcProgram(Builder builder) {
        program = builder.program;
        executor = builder.executor;
        versions = builder.versions;
        int lowest = -1;
        int highest = 0;
        for (int version : versions.keySet()) {
            lowest = Integer.compareUnsigned(version, lowest) < 0 ? version : lowest;
            highest = Integer.compareUnsigned(version, highest) > 0 ? version : highest;
        }
        low = lowest;
        high = highest;
    }

    /**
     * Creates a builder.
     *
     * @param program its number, unsigned
     * @return a builder without a version
     */
    public static Builder builder(int program) {
        return new Builder(program);
    }

    /** {@return the number of the program, unsigned} */
    public int number() {
        return program;
    }

    /** {@return the lowest version, unsigned} */
    public int lowestVersion() {
        return low;
    }

    /** {@return the highest version, unsigned} */
    public int highestVersion() {
        return high;
    }

    /** Those of a version; {@code null} if there is no such version. */
    IntObjectMap<RpcProcedureHandler> procedures(int version) {
        return versions.get(version);
    }

    /** {@code null} for the event loop. */
    Executor executor() {
        return executor;
    }

    @Override
    public String toString() {
        return "RpcProgram("
                + Integer.toUnsignedString(program)
                + ", versions "
                + Integer.toUnsignedString(low)
                + " to "
                + Integer.toUnsignedString(high)
                + ')';
    }

    /** Builds an {@link RpcProgram}. */
    public static final class Builder {

        private final int program;
        private final IntObjectMap<IntObjectMap<RpcProcedureHandler>> versions =
                new IntObjectHashMap<>();
        private Executor executor;

        private Builder(int program) {
            this.program = program;
        }

        /**
         * Adds a procedure, and its version, which has NULL (0) from the beginning: it takes and returns nothing (RFC
         * 5531, 12.1).
         *
         * @param version of the program, unsigned
         * @param number of the procedure, unsigned
         * @param procedure executes its calls; takes the place of an earlier one
         * @return this builder
         */
        public Builder procedure(int version, int number, RpcProcedureHandler procedure) {
            Objects.requireNonNull(procedure, "procedure");
            IntObjectMap<RpcProcedureHandler> procedures = versions.get(version);
            if (procedures == null) {
                procedures = new IntObjectHashMap<>();
                procedures.put(NULL, RpcServerCall::reply);
                versions.put(version, procedures);
            }
            procedures.put(number, procedure);
            return this;
        }

        /**
         * Sets where procedures are executed, for those that block; default: on the event loop. Several calls of a
         * connection may be executed at a time. A call whose connection is lost before its turn is dropped, unless a
         * {@link org.rpcrdma.codec.DuplicateRequestCache} waits for its reply; one that is being executed goes on. A
         * call that the executor rejects is answered with SYSTEM_ERR.
         *
         * @param threads stay the caller's
         * @return this builder
         */
        public Builder executor(Executor threads) {
            executor = Objects.requireNonNull(threads, "threads");
            return this;
        }

        /**
         * Creates the program.
         *
         * @return the program, to be used for any number of handlers
         * @throws IllegalStateException if it has no procedure
         */
        public RpcProgram build() {
            if (versions.isEmpty()) {
                throw new IllegalStateException(
                        "program "
                                + Integer.toUnsignedString(program)
                                + " without a version (expected: one procedure at least)");
            }
            return new RpcProgram(this);
        }
    }
}
