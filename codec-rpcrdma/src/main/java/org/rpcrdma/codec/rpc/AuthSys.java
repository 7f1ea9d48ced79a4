// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Body of AUTH_SYS (RFC 5531, appendix A): the user as claimed by the client, not authenticated.
 *
 * @param stamp any number
 * @param machine the client's name, at most 255 bytes in UTF-8
 * @param uid the user, unsigned
 * @param gid the user's group, unsigned
 * @param gids further groups, at most 16, unsigned
 */
public record AuthSys(int stamp, String machine, int uid, int gid, List<Integer> gids) {

    private static final int MAXIMUM_NAME = 255;
    private static final int MAXIMUM_GROUPS = 16;

    /** Stamp, length of an empty name, user, group, number of groups. */
    private static final int SHORTEST_BODY = 20;

    /**
     * Creates a credential; its values are claims, not authenticated.
     *
     * @param gids further groups, at most 16; copied
     * @param machine the caller's name for itself, at most 255 bytes in UTF-8
     * @param stamp any number that the caller has chosen (RFC 5531, appendix A)
     * @param uid the user, unsigned
     * @param gid the user's group, unsigned
     * @throws IllegalArgumentException if the name or the list is too long
     */
    public AuthSys {
        gids = List.copyOf(gids);
        int name = ByteBufUtil.utf8Bytes(machine);
        if (name > MAXIMUM_NAME || gids.size() > MAXIMUM_GROUPS) {
            throw new IllegalArgumentException(
                    "AUTH_SYS with a name of "
                            + name
                            + " bytes and "
                            + gids.size()
                            + " groups (expected: at most "
                            + MAXIMUM_NAME
                            + " and "
                            + MAXIMUM_GROUPS
                            + ')');
        }
    }

    /**
     * Decodes a credential. RFC 5531 gives the name no character set: what is no UTF-8 becomes question marks.
     *
     * @param credential of a call, of flavor AUTH_SYS
     * @return the claimed values, not authenticated
     * @throws IllegalArgumentException if the credential has another flavor
     * @throws MalformedXdrException if the body is invalid, or longer than its content
     */
    public static AuthSys of(OpaqueAuth credential) throws MalformedXdrException {
        if (credential.flavor() != OpaqueAuth.AUTH_SYS) {
            throw new IllegalArgumentException(credential + " (expected: AUTH_SYS, flavor 1)");
        }
        ByteBuf in = Unpooled.wrappedBuffer(credential.body());
        int stamp = XdrReader.readInt(in);
        String machine = name(XdrReader.readOpaque(in, MAXIMUM_NAME));
        int uid = XdrReader.readInt(in);
        int gid = XdrReader.readInt(in);
        int groups = XdrReader.readInt(in);
        if (groups < 0 || groups > MAXIMUM_GROUPS || in.readableBytes() != 4 * groups) {
            throw new MalformedXdrException(
                    Integer.toUnsignedString(groups)
                            + " groups in "
                            + in.readableBytes()
                            + " bytes (expected: at most "
                            + MAXIMUM_GROUPS
                            + ", and nothing behind)");
        }
        List<Integer> gids = new ArrayList<>(groups);
        for (int i = 0; i < groups; i++) {
            gids.add(XdrReader.readInt(in));
        }
        return new AuthSys(stamp, machine, uid, gid, gids);
    }

    /** Not longer than it was: U+FFFD has 3 bytes, and stands for 1. */
    private static String name(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8).replace('\ufffd', '?');
    }

    /** Whether a body is one of AUTH_SYS, and nothing behind; allocates nothing. */
    static boolean isWellFormed(ByteBuf in, int body, int length) {
        if (length < SHORTEST_BODY || (length & 3) != 0) {
            return false;
        }
        int name = in.getInt(body + 4);
        if (name < 0 || name > MAXIMUM_NAME) {
            return false;
        }
        int groupsOffset = 8 + (name + 3 & ~3) + 8;
        if (groupsOffset + 4 > length) {
            return false;
        }
        int groups = in.getInt(body + groupsOffset);
        return groups >= 0 && groups <= MAXIMUM_GROUPS && groupsOffset + 4 + 4 * groups == length;
    }

    /**
     * As a credential.
     *
     * @return a credential of flavor AUTH_SYS with these values
     */
    public OpaqueAuth toAuth() {
        byte[] name = machine.getBytes(StandardCharsets.UTF_8);
        ByteBuf body = Unpooled.buffer().writeInt(stamp).writeInt(name.length).writeBytes(name);
        body.writeZero(-name.length & 3).writeInt(uid).writeInt(gid).writeInt(gids.size());
        gids.forEach(body::writeInt);
        return OpaqueAuth.of(OpaqueAuth.AUTH_SYS, ByteBufUtil.getBytes(body));
    }
}
