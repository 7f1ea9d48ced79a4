// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.util.Arrays;
import java.util.List;

/**
 * A credential or a verifier (RFC 5531, 8.2): a flavor, and a body whose format depends on the flavor. Immutable; may
 * be used for any number of messages, by any thread.
 */
public final class OpaqueAuth {

    /** No authentication (RFC 5531, 10.1). */
    public static final int AUTH_NONE = 0;

    /** User and groups of a Unix machine, believed without proof (RFC 5531, appendix A). */
    public static final int AUTH_SYS = 1;

    /** The longest body, in bytes. */
    public static final int MAXIMUM_BODY = 400;

    /** AUTH_NONE without a body. */
    public static final OpaqueAuth NONE = new OpaqueAuth(AUTH_NONE, new byte[0]);

    private final int flavor;
    private final byte[] body;

    private OpaqueAuth(int flavor, byte[] body) {
        this.flavor = flavor;
        this.body = body;
    }

    /**
     * Any flavor.
     *
     * @param flavor unsigned, such as 6 for RPCSEC_GSS
     * @param body at most {@link #MAXIMUM_BODY} bytes, without length and padding; copied
     * @return an authenticator of that flavor
     * @throws IllegalArgumentException if the body is longer
     */
    public static OpaqueAuth of(int flavor, byte[] body) {
        if (body.length > MAXIMUM_BODY) {
            throw new IllegalArgumentException(
                    "body of an authenticator: "
                            + body.length
                            + " bytes (expected: at most "
                            + MAXIMUM_BODY
                            + ')');
        }
        return new OpaqueAuth(flavor, body.clone());
    }

    /**
     * A user of this machine: AUTH_SYS with stamp 0.
     *
     * @param machine its name, at most 255 bytes in UTF-8
     * @param uid the user, unsigned
     * @param gid the user's group, unsigned
     * @param gids further groups, at most 16
     * @return a credential of flavor AUTH_SYS
     * @throws IllegalArgumentException if name or groups are too long
     */
    public static OpaqueAuth sys(String machine, int uid, int gid, List<Integer> gids) {
        return new AuthSys(0, machine, uid, gid, gids).toAuth();
    }

    /**
     * Takes an authenticator out of a message.
     *
     * @param in read up to the end of the authenticator; stays the caller's
     * @return the authenticator; its body is a copy
     * @throws MalformedXdrException if the body is longer than allowed, or truncated
     */
    public static OpaqueAuth read(ByteBuf in) throws MalformedXdrException {
        int flavor = XdrReader.readInt(in);
        byte[] body = XdrReader.readOpaque(in, MAXIMUM_BODY);
        return body.length == 0 && flavor == AUTH_NONE ? NONE : new OpaqueAuth(flavor, body);
    }

    /** {@return the number of the flavor, unsigned} */
    public int flavor() {
        return flavor;
    }

    /** {@return a copy of the body, without length and padding} */
    public byte[] body() {
        return body.clone();
    }

    /** {@return how many bytes {@link #writeTo} appends: a multiple of 4, from 8 to 408} */
    public int encodedBytes() {
        return 8 + (body.length + 3 & ~3);
    }

    /**
     * Appends flavor, length, body and padding.
     *
     * @param out stays the caller's
     */
    public void writeTo(ByteBuf out) {
        out.writeLong((long) flavor << 32 | body.length);
        if (body.length > 0) {
            out.writeBytes(body).writeZero(-body.length & 3);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof OpaqueAuth auth
                && auth.flavor == flavor
                && Arrays.equals(auth.body, body);
    }

    @Override
    public int hashCode() {
        return 31 * flavor + Arrays.hashCode(body);
    }

    @Override
    public String toString() {
        return "OpaqueAuth(flavor "
                + Integer.toUnsignedString(flavor)
                + (body.length == 0 ? "" : ", " + ByteBufUtil.hexDump(body))
                + ')';
    }
}
