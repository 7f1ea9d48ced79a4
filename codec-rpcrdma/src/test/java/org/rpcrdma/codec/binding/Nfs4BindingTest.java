// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.rpcrdma.Proves;

/** NFS version 4 COMPOUNDs of all operations, made by the test from the XDR of the RFCs. */
class Nfs4BindingTest {

    private static final int COMPOUND = 1;
    private static final int PUTFH = 22;
    private static final int READ = 25;
    private static final int READLINK = 27;
    private static final int WRITE = 38;
    private static final int SEQUENCE = 53;
    private static final int UNKNOWN = 4711;

    /** Where the eligible item's bytes begin in the stream before the walk, not to be 0. */
    private static final int BEFORE = 24;

    private final Nfs4Binding binding = new Nfs4Binding();
    private final XdrCursor cursor = new XdrCursor();
    private final ReplyLimits limits = new ReplyLimits();

    @FunctionalInterface
    private interface Walk {
        void run(XdrCursor in) throws MalformedMessageException;
    }

    private void walkArguments(XdrCursor in) throws MalformedMessageException {
        binding.walkArguments(4, COMPOUND, in);
    }

    private void walkResults(XdrCursor in) throws MalformedMessageException {
        binding.walkResults(4, COMPOUND, in);
    }

    private XdrCursor at(ByteBuf in, ItemInChunkPredicate reduction) {
        return cursor.wrap(in, 0, BEFORE, in.writerIndex(), reduction);
    }

    private static int row(int number) {
        for (int row = 0; row < Nfs4Grammar.operations(); row++) {
            if (Nfs4Grammar.number(row) == number) {
                return row;
            }
        }
        throw new IllegalArgumentException("no operation " + number);
    }

    /** The arguments of a COMPOUND of these operations, by row of the grammar. */
    private static Nfs4Grammar call(Random random, int... rows) {
        Nfs4Grammar call = new Nfs4Grammar(random);
        call.stream().writeZero(BEFORE);
        call.string().word(random.nextInt(3)).word(rows.length);
        for (int row : rows) {
            call.word(Nfs4Grammar.number(row)).argumentsOf(row);
        }
        return call;
    }

    private static Nfs4Grammar reply(Random random, int... rows) {
        Nfs4Grammar reply = new Nfs4Grammar(random);
        reply.stream().writeZero(BEFORE);
        reply.word(0).string().word(rows.length);
        for (int row : rows) {
            reply.word(Nfs4Grammar.number(row)).word(0).resultsOf(row);
        }
        return reply;
    }

    /** Operations with eligible items come often enough that most COMPOUNDs have several. */
    private static int[] rows(Random random) {
        int[] favored = {row(6), row(READ), row(READLINK), row(WRITE)};
        IntUnaryOperator choose =
                i ->
                        random.nextInt(3) == 0
                                ? favored[random.nextInt(favored.length)]
                                : random.nextInt(Nfs4Grammar.operations());
        return IntStream.range(0, random.nextInt(13)).map(choose).toArray();
    }

    @Property(tries = 1000)
    @Proves({"V1-CHUNK-01", "V1-CHUNK-18", "V1-ULB-01", "API-01", "ULB-08"})
    void everyEligibleArgumentIsFoundWholeAndReduced(@ForAll long seed)
            throws MalformedMessageException {
        Random random = new Random(seed);
        check(call(random, rows(random)), random, this::walkArguments);
    }

    @Property(tries = 1000)
    @Proves({"V1-CHUNK-01", "V1-CHUNK-18", "V1-ULB-01", "API-01", "ULB-08"})
    void everyEligibleResultIsFoundWholeAndReduced(@ForAll long seed)
            throws MalformedMessageException {
        Random random = new Random(seed);
        check(reply(random, rows(random)), random, this::walkResults);
    }

    private void check(Nfs4Grammar made, Random random, Walk walk)
            throws MalformedMessageException {
        ByteBuf whole = made.stream();
        walk.run(at(whole, ItemInChunkPredicate.NONE));
        assertThat(cursor.remaining()).isZero();
        assertItems(made.items, Set.of());

        // Take some items out, with their round-up, and put them back where the walk says.
        Set<Long> chosen = new HashSet<>();
        ByteBuf reduced = Unpooled.buffer();
        int from = 0;
        for (Map.Entry<Integer, Integer> item : made.items.entrySet()) {
            if (random.nextBoolean()) {
                chosen.add((long) item.getKey());
                reduced.writeBytes(whole, from, item.getKey() - from);
                from = item.getKey() + XdrCursor.roundUp(item.getValue());
            }
        }
        reduced.writeBytes(whole, from, whole.writerIndex() - from);
        walk.run(at(reduced, (position, ordinal, length) -> chosen.contains(position)));
        assertThat(cursor.remaining()).isZero();
        assertItems(made.items, chosen);

        ByteBuf rebuilt = Unpooled.buffer();
        int index = 0;
        for (int i = 0; i < cursor.items(); i++) {
            if (cursor.isItemReduced(i)) {
                rebuilt.writeBytes(reduced, index, cursor.itemIndex(i) - index);
                index = cursor.itemIndex(i);
                rebuilt.writeBytes(
                        whole,
                        (int) cursor.itemPosition(i),
                        XdrCursor.roundUp(cursor.itemLength(i)));
            }
        }
        rebuilt.writeBytes(reduced, index, reduced.writerIndex() - index);
        assertThat(rebuilt).isEqualTo(whole);
    }

    private void assertItems(Map<Integer, Integer> expected, Set<Long> reduced) {
        assertThat(cursor.items()).isEqualTo(expected.size());
        int item = 0;
        for (Map.Entry<Integer, Integer> entry : expected.entrySet()) {
            assertThat(cursor.itemPosition(item)).isEqualTo((long) entry.getKey());
            assertThat(cursor.itemLength(item)).isEqualTo(entry.getValue());
            assertThat(cursor.isItemReduced(item))
                    .isEqualTo(reduced.contains((long) entry.getKey()));
            item++;
        }
    }

    @Property(tries = 150)
    @Proves({"SEC-16", "V1-ERR-10"})
    void cutShortAnywhereIsMalformed(@ForAll long seed) {
        Random random = new Random(seed);
        int[] rows = rows(random);
        ByteBuf call = call(random, rows).stream();
        ByteBuf reply = reply(random, rows).stream();
        for (int end = BEFORE; end < call.writerIndex(); end++) {
            ByteBuf cut = call.slice(0, end); // reading past its end throws something else
            assertMalformed(() -> walkArguments(at(cut, ItemInChunkPredicate.NONE)));
            assertMalformed(
                    () ->
                            binding.limitResults(
                                    4, COMPOUND, at(cut, ItemInChunkPredicate.NONE), limits));
        }
        for (int end = BEFORE; end < reply.writerIndex(); end++) {
            ByteBuf cut = reply.slice(0, end);
            assertMalformed(() -> walkResults(at(cut, ItemInChunkPredicate.NONE)));
        }
    }

    private static void assertMalformed(ThrowingCallable walk) {
        Throwable thrown = catchThrowable(walk);
        if (thrown != MalformedMessageException.INSTANCE) {
            throw new AssertionError("cut short, but not found to be malformed", thrown);
        }
    }

    @Property(tries = 2000)
    @Proves({"SEC-16", "V1-ERR-10"})
    void damageNeverCausesAnythingElse(@ForAll long seed) {
        Random random = new Random(seed);
        int[] rows = rows(random);
        for (ByteBuf stream : List.of(call(random, rows).stream(), reply(random, rows).stream())) {
            for (int i = random.nextInt(8); i >= 0 && stream.writerIndex() > BEFORE; i--) {
                int word = BEFORE + (random.nextInt(stream.writerIndex() - BEFORE) & ~3);
                int[] values = {random.nextInt(), random.nextInt(80), -1, 0x7FFFFFFF, 0x80000000};
                stream.setInt(Math.min(word, stream.writerIndex() - 4), values[i % values.length]);
            }
            ItemInChunkPredicate some = (position, ordinal, length) -> (position >> 2 & 1) == 0;
            runGarbage(in -> walkArguments(in), stream, some);
            runGarbage(in -> walkResults(in), stream, some);
            runGarbage(
                    in -> binding.isIdempotent(4, COMPOUND, in), stream, ItemInChunkPredicate.NONE);
            limits.clear();
            runGarbage(
                    in -> binding.limitResults(4, COMPOUND, in, limits),
                    stream,
                    ItemInChunkPredicate.NONE);
        }
    }

    private void runGarbage(Walk walk, ByteBuf stream, ItemInChunkPredicate reduction) {
        try {
            walk.run(at(stream, reduction));
            assertThat(cursor.remaining()).isNotNegative();
        } catch (MalformedMessageException e) {
            assertThat(e).isSameAs(MalformedMessageException.INSTANCE);
        }
        assertThat(cursor.items()).isLessThanOrEqualTo(Nfs4XdrTypes.MAXIMUM_ITEMS);
        assertThat(limits.sinks()).isLessThanOrEqualTo(Nfs4XdrTypes.MAXIMUM_ITEMS);
    }

    @Property(tries = 30)
    @Proves({"V1-ULB-06", "API-07"})
    void noResultOfABoundedOperationIsLongerThanItsBound(@ForAll long seed)
            throws MalformedMessageException {
        Random random = new Random(seed);
        for (int row = 0; row < Nfs4Grammar.operations(); row++) {
            int number = Nfs4Grammar.number(row);
            if (number == 9 || number == 55) {
                continue; // these say in their arguments how much they want; tested on their own
            }
            ByteBuf call = call(random, row).stream();
            limits.clear();
            binding.limitResults(4, COMPOUND, at(call, ItemInChunkPredicate.NONE), limits);
            Nfs4Grammar reply = new Nfs4Grammar(random).resultsOf(row);
            if (limits.isKnown()) {
                // Status, an empty tag, the count, then number and status of the operation.
                assertThat(limits.totalBytes())
                        .as("operation %d", number)
                        .isGreaterThanOrEqualTo(5 * 4 + reply.stream().writerIndex());
            } else {
                assertThat(number).isIn(42, 48, 61, 72);
            }
            assertThat(limits.sinks()).isEqualTo(number == READ ? 1 : 0);
        }
    }

    private void limit(Nfs4Grammar call) throws MalformedMessageException {
        limits.clear();
        binding.limitResults(4, COMPOUND, at(call.stream(), ItemInChunkPredicate.NONE), limits);
    }

    private static Nfs4Grammar begin(int operations) {
        Nfs4Grammar call = new Nfs4Grammar(new Random(1));
        call.stream().writeZero(BEFORE + 4).writeInt(1).writeInt(operations); // no tag
        return call;
    }

    private static Nfs4Grammar getattr(int... words) {
        Nfs4Grammar call = begin(1).word(9).word(words.length);
        for (int word : words) {
            call.word(word);
        }
        return call;
    }

    @Example
    @Proves({"V1-ULB-06", "V1-ULB-09", "ULB-09"})
    void attributesCountByTheirNumber() throws MalformedMessageException {
        int before = 3 * 4 + 2 * 4; // status, tag, count; operation, status
        limit(getattr());
        assertThat(limits.totalBytes()).isEqualTo(before + 8);
        limit(
                getattr(
                        1 << 1 | 1 << 3 | 1 << 4,
                        1 << 1 | 1 << 23)); // type change size mode mounted_on
        assertThat(limits.isKnown()).isTrue();
        assertThat(limits.totalBytes()).isEqualTo(before + 4 + 8 + 4 + 4 + 8 + 8 + 4 + 8);
        int[] unbounded = {12, 24, 32, 58, 59, 61, 63, 67, 68, 80};
        for (int attribute = 0; attribute < 256; attribute++) {
            int[] words = new int[8];
            words[attribute >> 5] = 1 << attribute;
            limit(getattr(words));
            int number = attribute;
            assertThat(limits.isKnown())
                    .as("attribute %d", attribute)
                    .isEqualTo(
                            attribute < 87 && IntStream.of(unbounded).noneMatch(u -> u == number));
        }
    }

    @Example
    @Proves({"V1-WRITE-13", "V1-ULB-06", "ULB-30"})
    void everyReadGetsASinkUnlessALinkIsReadToo() throws MalformedMessageException {
        Nfs4Grammar call = begin(3).word(READ).write("16 8 =100").word(READ).write("16 8 =5001");
        limit(call.word(10)); // GETFH
        assertThat(limits.sinks()).isEqualTo(2);
        assertThat(limits.sinkBytes(0)).isEqualTo(100);
        assertThat(limits.sinkBytes(1)).isEqualTo(5001);
        assertThat(limits.isKnown()).isTrue();
        // Three operations; two READs with eof and count; the handle with its count.
        assertThat(limits.fixedBytes()).isEqualTo(12 + 3 * 8 + 2 * 8 + 4 + 128);

        call = begin(5).word(READ).write("16 8 =100").word(READ).write("16 8 =5001");
        limit(call.word(READLINK).word(READ).write("16 8 =7").word(READ).write("16 8 =8"));
        assertThat(limits.sinks()).isZero();
        assertThat(limits.isKnown()).isTrue();
        // Five operations; four READs with eof and count; the text with its count; all data.
        assertThat(limits.fixedBytes())
                .isEqualTo(12 + 5 * 8 + 4 * 8 + 4 + 4096 + 100 + 5004 + 8 + 8);
    }

    @Example
    @Proves({"V1-ULB-09", "V1-ULB-06", "V1-CHUNK-01"})
    void anUnknownOperationEndsTheWalkAndWhatWasFoundCounts() throws MalformedMessageException {
        Nfs4Grammar call = begin(5).word(PUTFH).write("h").word(WRITE).write("16 8 4 E");
        call.word(READ).write("16 8 =100").word(UNKNOWN).word(WRITE).write("16 8 4 E");
        walkArguments(at(call.stream(), ItemInChunkPredicate.NONE));
        assertThat(cursor.items()).isEqualTo(1);
        limit(call);
        assertThat(limits.isKnown()).isFalse();
        assertThat(limits.sinks()).isEqualTo(1);
        assertThat(binding.isIdempotent(4, COMPOUND, at(call.stream(), ItemInChunkPredicate.NONE)))
                .isFalse();

        Nfs4Grammar reply = new Nfs4Grammar(new Random(2)).write("24 =0 s =3");
        reply.word(READ).word(0).write("B E").word(UNKNOWN).word(0).word(READ).word(0).write("B E");
        walkResults(at(reply.stream(), ItemInChunkPredicate.NONE));
        assertThat(cursor.items()).isEqualTo(1);
    }

    @Example
    @Proves("V1-ULB-09")
    void anUnknownArmOfAUnionEndsTheWalk() throws MalformedMessageException {
        String[] calls = {
            "=18 4 4 4 8 s =1 =9", // OPEN, createmode
            "=18 4 4 4 8 s =0 =9", // OPEN, claim
            "=40 4 =1 =9", // BACKCHANNEL_CTL
            "=42 8 s 4 =9", // EXCHANGE_ID
            "=43 8 4 4 4 4 4 4 4 4 =0 4 4 4 4 4 4 =0 4 =1 =9", // CREATE_SESSION
            "=56 4 =9", // WANT_DELEGATION
            "=60 16 16 8 8 8 B B =1 =9", // COPY
            "=61 16 =9", // COPY_NOTIFY
        };
        for (String operation : calls) {
            Nfs4Grammar call = begin(3).word(WRITE).write("16 8 4 E").write(operation);
            call.word(WRITE).write("16 8 4 E");
            walkArguments(at(call.stream(), ItemInChunkPredicate.NONE));
            assertThat(cursor.items()).as(operation).isEqualTo(1);
        }
        String[] replies = {
            "=18 =0 16 B 8 8 4 b =9", // OPEN
            "=42 =0 8 4 4 =9", // EXCHANGE_ID
            "=56 =0 =9", // WANT_DELEGATION
            "=61 =0 12 16 =1 =9", // COPY_NOTIFY
            "=68 =0 B =1 =9", // READ_PLUS
        };
        for (String operation : replies) {
            Nfs4Grammar reply = new Nfs4Grammar(new Random(2)).write("24 =0 s =3 =25 =0 B E");
            reply.write(operation).write("=25 =0 B E");
            walkResults(at(reply.stream(), ItemInChunkPredicate.NONE));
            assertThat(cursor.items()).as(operation).isEqualTo(1);
        }
    }

    @Example
    @Proves("V1-CHUNK-07")
    void aCompoundEndsWithTheOperationThatFails() throws MalformedMessageException {
        Nfs4Grammar reply = new Nfs4Grammar(new Random(3)).write("24 =5 s =3 =25 =0 B E =25 =5");
        reply.write("=25 =0 B E"); // nobody sends this; it is not looked at
        walkResults(at(reply.stream(), ItemInChunkPredicate.NONE));
        assertThat(cursor.items()).isEqualTo(1);
    }

    @Example
    @Proves({"V1-ULB-03", "SEC-16"})
    void aCompoundHasOnlySoManyEligibleItems() throws MalformedMessageException {
        int operations = Nfs4XdrTypes.MAXIMUM_ITEMS + 44;
        Nfs4Grammar call = begin(2 * operations);
        Nfs4Grammar reply = new Nfs4Grammar(new Random(4)).write("24 =0 =0").word(operations);
        for (int i = 0; i < operations; i++) {
            call.word(WRITE).write("16 8 4 E").word(READ).write("16 8 C");
            reply.word(READ).word(0).write("B E");
        }
        walkArguments(at(call.stream(), ItemInChunkPredicate.NONE));
        assertThat(cursor.remaining()).isZero();
        assertThat(cursor.items()).isEqualTo(Nfs4XdrTypes.MAXIMUM_ITEMS);
        limit(call);
        assertThat(limits.sinks()).isEqualTo(Nfs4XdrTypes.MAXIMUM_ITEMS);
        walkResults(at(reply.stream(), ItemInChunkPredicate.NONE));
        assertThat(cursor.remaining()).isZero();
        assertThat(cursor.items()).isEqualTo(Nfs4XdrTypes.MAXIMUM_ITEMS);
    }

    @Example
    @Proves("SEC-16")
    void countsThatTheStreamCannotHoldAreMalformed() {
        for (int count : new int[] {0x7FFFFFFF, 0x80000000, -1, 100}) {
            String[] beginnings = {
                "=9", // GETATTR
                "=40 4", // BACKCHANNEL_CTL
                "=42 8 s 4 =1", // EXCHANGE_ID
                "=42 8 s 4 =0",
                "=43 8 4 4 4 4 4 4 4 4", // CREATE_SESSION
                "=55", // TEST_STATEID
                "=60 16 16 8 8 8 B B", // COPY
                "=64 8 8 16", // LAYOUTERROR
            };
            for (String beginning : beginnings) {
                ByteBuf call = begin(1).write(beginning).word(count).write("8").stream();
                assertMalformed(() -> walkArguments(at(call, ItemInChunkPredicate.NONE)));
            }
            String[] results = {
                "=9 =0", // GETATTR
                "=33 =0", // SECINFO
                "=48 =0 8 8", // GETDEVICELIST
                "=50 =0 B 16", // LAYOUTGET
                "=61 =0 12 16", // COPY_NOTIFY
                "=68 =0 B", // READ_PLUS
                "=74 =0 8", // LISTXATTRS
            };
            for (String result : results) {
                Nfs4Grammar reply = new Nfs4Grammar(new Random(6)).write("24 =0 s =1");
                reply.write(result).word(count).write("8");
                assertMalformed(() -> walkResults(at(reply.stream(), ItemInChunkPredicate.NONE)));
            }
            ByteBuf many = begin(count).stream();
            assertMalformed(() -> walkArguments(at(many, ItemInChunkPredicate.NONE)));
            assertMalformed(
                    () ->
                            binding.limitResults(
                                    4, COMPOUND, at(many, ItemInChunkPredicate.NONE), limits));
        }
    }

    @Example
    void aCompoundIsIdempotentWhenAllOfItIs() throws MalformedMessageException {
        Nfs4Grammar reading = begin(3).write("=22 h =25 16 8 C =9 b");
        assertThat(
                        binding.isIdempotent(
                                4, COMPOUND, at(reading.stream(), ItemInChunkPredicate.NONE)))
                .isTrue();
        Nfs4Grammar removing = begin(3).write("=22 h =28 s =9 b");
        assertThat(
                        binding.isIdempotent(
                                4, COMPOUND, at(removing.stream(), ItemInChunkPredicate.NONE)))
                .isFalse();
        // A slot's request must not be repeated on the same connection (RFC 8881, 2.10.6.2).
        Nfs4Grammar session = begin(3).word(SEQUENCE).write("16 4 4 4 B =22 h =25 16 8 C");
        assertThat(
                        binding.isIdempotent(
                                4, COMPOUND, at(session.stream(), ItemInChunkPredicate.NONE)))
                .isFalse();
        assertThat(binding.isIdempotent(4, 0, cursor)).isTrue();
        assertThat(binding.isIdempotent(4, 2, cursor)).isFalse();
    }
}
