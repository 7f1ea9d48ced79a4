// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/** Names of procedures, for metrics. */
final class ProcedureNames {

    private final String[] names;

    /**
     * @param prefix program and version
     * @param procedures their names by number, from 0 on, with spaces between them; {@code -} where there is none
     */
    ProcedureNames(String prefix, String procedures) {
        names = procedures.split(" ");
        for (int i = 0; i < names.length; i++) {
            names[i] = names[i].equals("-") ? null : prefix + '.' + names[i];
        }
    }

    /** {@code null} for a procedure that there is not. */
    String of(int procedure) {
        return procedure >= 0 && procedure < names.length ? names[procedure] : null;
    }
}
