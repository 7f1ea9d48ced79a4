// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

/** An {@code ibv_mw} of type 2. Its key is the program's; that of the software RNIC is another, which nobody sees. */
final class SoftwareWindow {

    final SoftwareLibrary.Pd domain;
    final long pointer = SoftwareKernel.allocate(32);

    /** What it is bound to; {@code null} when it is not. */
    SoftwareQp qp;

    SoftwareLibrary.Mr region;

    /** The key that it is, or was last, bound under. */
    int key;

    /** Of the software RNIC. */
    int stag;

    SoftwareWindow(SoftwareLibrary.Pd domain, int key) {
        this.domain = domain;
        this.key = key;
        CMemory.putInt(pointer + StructLayouts.MW_KEY, key);
    }
}
