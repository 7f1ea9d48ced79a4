// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.export.UnixAttributes;

/** The attributes of a file or directory around its change ({@code wcc_data}, RFC 1813, 2.6). */
record WccData(UnixAttributes before, UnixAttributes after) implements XdrEncodable {

    @Override
    public void writeTo(XdrWriter out) {
        out.write(before.before()).write(after.optional());
    }
}
