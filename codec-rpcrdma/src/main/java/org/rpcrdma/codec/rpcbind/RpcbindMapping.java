// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.codec.rpc.XdrWriter;

/**
 * A mapping of a service to its address: {@code struct rpcb} (RFC 1833, 2.1).
 *
 * @param program the RPC program, unsigned
 * @param version of the program, unsigned
 * @param netid network identifier, such as {@code rdma}
 * @param address universal address; empty where it is not known
 * @param owner who has registered the service
 */
record RpcbindMapping(int program, int version, String netid, String address, String owner)
        implements XdrEncodable {

    /** The longest netid, address or owner that is accepted, in bytes. */
    static final int MAXIMUM_STRING = 1024;

    @Override
    public void writeTo(XdrWriter out) {
        out.writeInt(program).writeInt(version);
        out.writeString(netid).writeString(address).writeString(owner);
    }

    private static RpcbindMapping read(XdrReader in) throws MalformedXdrException {
        return new RpcbindMapping(
                in.readInt(), in.readInt(), readString(in), readString(in), readString(in));
    }

    /** Reads {@code rpcblist_ptr}: each element follows a word that is 1, and the end is a word that is 0. */
    static List<RpcbindMapping> readList(XdrReader in) throws MalformedXdrException {
        List<RpcbindMapping> list = new ArrayList<>();
        while (in.readBoolean()) {
            list.add(read(in));
        }
        return list;
    }

    static String readString(XdrReader in) throws MalformedXdrException {
        return in.readString(MAXIMUM_STRING);
    }
}
