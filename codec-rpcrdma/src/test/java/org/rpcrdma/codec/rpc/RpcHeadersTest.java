// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;

/** RFC 5531, 9: golden headers, then any headers, then any bytes. */
class RpcHeadersTest {

    private static final String CALL =
            "00000007 00000000 00000002 000186a3 00000003 00000006 00000001 0000001c 00000009"
                    + " 00000003 61626300 000003e8 00000064 00000001 00000005 00000000 00000000";

    private static ByteBuf hex(String text) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(text.replace(" ", "")));
    }

    @Test
    void aCallIsReadAndWritten() throws Exception {
        ByteBuf in = Unpooled.wrappedBuffer(hex(CALL), hex("deadbeef"));
        CallHeader header = CallHeader.read(in);
        assertThat(in.readInt()).isEqualTo(0xdeadbeef);
        OpaqueAuth user = new AuthSys(9, "abc", 1000, 100, List.of(5)).toAuth();
        assertThat(header).isEqualTo(new CallHeader(7, 100003, 3, 6, user, OpaqueAuth.NONE));
        assertThat(AuthSys.of(header.credential()).machine()).isEqualTo("abc");
        ByteBuf out = Unpooled.buffer();
        header.writeTo(out);
        assertThat(out).isEqualTo(hex(CALL));
        assertThat(CallHeader.isIn(out)).isTrue();
        assertThat(ReplyHeader.isIn(out)).isFalse();
    }

    @Test
    void repliesAreReadAndWritten() throws Exception {
        OpaqueAuth gss = OpaqueAuth.of(6, new byte[] {1, 2, 3});
        check("00000007 00000001 00000000 00000000 00000000 00000000", Status.SUCCESS);
        check("00000007 00000001 00000000 00000000 00000000 00000005", Status.SYSTEM_ERR);
        check(
                "00000007 00000001 00000000 00000006 00000003 01020300 00000004",
                new ReplyHeader(7, Status.GARBAGE_ARGS, gss, 0, 0));
        check(
                "00000007 00000001 00000000 00000000 00000000 00000002 00000002 00000004",
                ReplyHeader.programMismatch(7, 2, 4));
        check(
                "00000007 00000001 00000001 00000000 00000002 00000002",
                ReplyHeader.rpcMismatch(7, 2, 2));
        check("00000007 00000001 00000001 00000001 00000005", ReplyHeader.authError(7, 5));
    }

    private static void check(String golden, Status status) throws Exception {
        check(golden, ReplyHeader.of(7, status));
    }

    private static void check(String golden, ReplyHeader header) throws Exception {
        ByteBuf out = Unpooled.buffer();
        header.writeTo(out);
        assertThat(out).isEqualTo(hex(golden));
        assertThat(header.encodedBytes()).isEqualTo(out.readableBytes());
        assertThat(ReplyHeader.read(out)).isEqualTo(header);
        assertThat(out.isReadable()).isFalse();
    }

    @Test
    void otherVersionsOfRpcAreAnswered() {
        ByteBuf call = hex("00000007 00000000 00000003");
        assertThatThrownBy(() -> CallHeader.read(call))
                .isInstanceOfSatisfying(
                        CallHeader.RpcMismatchException.class,
                        mismatch ->
                                assertThat(mismatch.reply())
                                        .isEqualTo(ReplyHeader.rpcMismatch(7, 2, 2)))
                .hasMessageContaining("3 (expected: 2)");
    }

    @Test
    void whatIsTooLongIsRefusedInOneSentence() {
        assertThatThrownBy(() -> OpaqueAuth.of(0, new byte[401])).hasMessageContaining("401 bytes");
        List<Integer> groups = Collections.nCopies(17, 1);
        assertThatThrownBy(() -> OpaqueAuth.sys("a", 1, 1, groups))
                .hasMessageContaining("17 groups");
        assertThatThrownBy(() -> OpaqueAuth.sys("a".repeat(256), 1, 1, List.of()))
                .hasMessageContaining("256 bytes");
        assertThatThrownBy(() -> AuthSys.of(OpaqueAuth.NONE)).hasMessageContaining("AUTH_SYS");
        assertThatThrownBy(() -> ReplyHeader.of(1, Status.AUTH_ERROR))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Property
    void callsComeBackAsTheyWere(@ForAll long seed) throws Exception {
        Random random = new Random(seed);
        CallHeader header =
                new CallHeader(
                        random.nextInt(),
                        random.nextInt(),
                        random.nextInt(),
                        random.nextInt(),
                        auth(random),
                        auth(random));
        ByteBuf out = Unpooled.buffer();
        header.writeTo(out);
        assertThat(out.readableBytes()).isEqualTo(header.encodedBytes()).isBetween(40, 840);
        ByteBuf cut = out.copy(0, random.nextInt(out.readableBytes()));
        assertThatThrownBy(() -> CallHeader.read(cut)).isInstanceOf(MalformedXdrException.class);
        assertThat(CallHeader.read(out)).isEqualTo(header);
        assertThat(out.isReadable()).isFalse();
    }

    @Property
    void repliesComeBackAsTheyWere(@ForAll long seed) throws Exception {
        Random random = new Random(seed);
        List<Status> all = List.of(Status.values());
        Status status = all.get(random.nextInt(all.size()));
        ReplyHeader header =
                new ReplyHeader(
                        random.nextInt(),
                        status,
                        status.isAccepted() ? auth(random) : OpaqueAuth.NONE,
                        status.details > 0 ? random.nextInt() : 0,
                        status.details > 1 ? random.nextInt() : 0);
        ByteBuf out = Unpooled.buffer();
        header.writeTo(out);
        assertThat(out.readableBytes()).isEqualTo(header.encodedBytes()).isBetween(20, 432);
        ByteBuf cut = out.copy(0, random.nextInt(out.readableBytes()));
        assertThatThrownBy(() -> ReplyHeader.read(cut)).isInstanceOf(MalformedXdrException.class);
        assertThat(ReplyHeader.read(out)).isEqualTo(header);
    }

    @Property
    void anyUserComesBack(@ForAll long seed) throws Exception {
        Random random = new Random(seed);
        List<Integer> gids = new ArrayList<>();
        random.ints(random.nextInt(17)).forEach(gids::add);
        AuthSys user =
                new AuthSys(
                        random.nextInt(),
                        "n".repeat(random.nextInt(256)),
                        random.nextInt(),
                        random.nextInt(),
                        gids);
        assertThat(AuthSys.of(user.toAuth())).isEqualTo(user);
    }

    /** The name has no character set (RFC 5531, appendix A), and is nothing to refuse a caller for. */
    @ParameterizedTest
    @ValueSource(ints = {1, 85, 86, 255})
    void aNameThatIsNoUtf8IsRead(int length) throws Exception {
        AuthSys user = new AuthSys(9, "n".repeat(length), 1000, 100, List.of(5));
        byte[] body = user.toAuth().body();
        Arrays.fill(body, 8, 8 + length, (byte) 0xFF);
        AuthSys read = AuthSys.of(OpaqueAuth.of(OpaqueAuth.AUTH_SYS, body));
        assertThat(read).isEqualTo(new AuthSys(9, "?".repeat(length), 1000, 100, List.of(5)));
    }

    @Test
    void aNameInUtf8StaysAsItIs() throws Exception {
        for (String name : List.of("caf\u00e9", "\u6771\u4eac", "\ud83d\ude00".repeat(63))) {
            AuthSys user = new AuthSys(9, name, 1000, 100, List.of());
            assertThat(AuthSys.of(user.toAuth())).isEqualTo(user);
        }
    }

    /** Whatever bytes a name has, it is read, and can be written. */
    @Property
    void anyNameIsRead(@ForAll long seed) throws Exception {
        Random random = new Random(seed);
        byte[] name = new byte[random.nextInt(256)];
        random.nextBytes(name);
        ByteBuf body = Unpooled.buffer().writeInt(9).writeInt(name.length).writeBytes(name);
        body.writeZero(-name.length & 3).writeInt(1000).writeInt(100).writeInt(0);
        OpaqueAuth auth = OpaqueAuth.of(OpaqueAuth.AUTH_SYS, ByteBufUtil.getBytes(body));
        AuthSys user = AuthSys.of(auth);
        assertThat(user.uid()).isEqualTo(1000);
        assertThat(AuthSys.of(user.toAuth())).isEqualTo(user);
    }

    /** Whatever comes is a header, or malformed: no other exception, and what is read is what would be written. */
    @Property(tries = 5000)
    void anyBytesAreAHeaderOrMalformed(@ForAll long seed) {
        Random random = new Random(seed);
        ByteBuf bytes = Unpooled.buffer().writeInt(random.nextInt()).writeInt(random.nextInt(3));
        for (int words = random.nextInt(30); words > 0; words--) {
            bytes.writeInt(random.nextInt(8) == 0 ? random.nextInt() : random.nextInt(9));
        }
        ByteBuf again = Unpooled.buffer();
        try {
            if (CallHeader.isIn(bytes)) {
                CallHeader header = CallHeader.read(bytes.duplicate());
                header.writeTo(again);
                if (header.credential().flavor() == OpaqueAuth.AUTH_SYS) {
                    AuthSys.of(header.credential());
                }
            } else {
                ReplyHeader.read(bytes.duplicate()).writeTo(again);
            }
        } catch (MalformedXdrException e) {
            assertThat(e).hasMessageContaining("expected: ");
            return;
        }
        assertThat(again.readableBytes()).isLessThanOrEqualTo(bytes.readableBytes());
        assertThat(again.getLong(0)).isEqualTo(bytes.getLong(0));
    }

    private static OpaqueAuth auth(Random random) {
        byte[] body = new byte[random.nextInt(401)];
        random.nextBytes(body);
        return OpaqueAuth.of(random.nextInt(), body);
    }
}
