// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

/** The kinds of call whose path is counted. */
enum PathCall {
    NULL("NULL", 0),
    READ_4K("READ 4 KiB", 4 << 10),
    WRITE_4K("WRITE 4 KiB", 4 << 10),
    WRITE_64K("WRITE 64 KiB", 64 << 10);

    final String label;
    final int bytes;

    PathCall(String label, int bytes) {
        this.label = label;
        this.bytes = bytes;
    }
}
