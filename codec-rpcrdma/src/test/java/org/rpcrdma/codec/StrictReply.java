// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Judges a successful reply as a requester that forgives nothing: every rule of RFC 8166 that can be seen in the two
 * Sends of an exchange. Parses the bytes itself, so that the codec is not its own judge.
 */
final class StrictReply {

    private static final int RDMA_MSG = 0;
    private static final int RDMA_NOMSG = 1;
    private static final int MINIMUM_REPLY = 20;

    private record Segment(int handle, long length, long offset) {}

    /** {@code reply} is {@code null} when the slot is empty. */
    private record Lists(int reads, List<List<Segment>> writes, List<Segment> reply, int end) {}

    private final List<String> violations = new ArrayList<>();

    private StrictReply() {}

    /**
     * @param threshold the reply's inline threshold in bytes
     * @return what is wrong with the reply; nothing if it is as RFC 8166 wants it
     */
    static List<String> violations(byte[] call, byte[] reply, int threshold) {
        StrictReply judge = new StrictReply();
        judge.judge(ByteBuffer.wrap(call), ByteBuffer.wrap(reply), threshold);
        return judge.violations;
    }

    private void judge(ByteBuffer call, ByteBuffer reply, int threshold) {
        int length = reply.limit();
        expect(length <= threshold, "3.3.2: longer than the inline threshold");
        expect(length >= 28, "4.5: shorter than a header");
        expect((length & 3) == 0, "4: not a multiple of 4 bytes");
        if (!violations.isEmpty()) {
            return;
        }
        expect(reply.getInt(0) == call.getInt(0), "4.2.1: not the XID of the call");
        expect(reply.getInt(4) == 1, "4.2.2: not version 1");
        expect(reply.getInt(8) != 0, "3.3.1: no credit granted");
        int proc = reply.getInt(12);
        expect(proc == RDMA_MSG || proc == RDMA_NOMSG, "4.2.4: neither RDMA_MSG nor RDMA_NOMSG");
        if (!violations.isEmpty()) {
            return;
        }
        Lists offered = parse(call);
        Lists returned = parse(reply);
        if (offered == null || returned == null) {
            expect(false, "4.3: chunk lists do not decode");
            return;
        }
        expect(returned.reads() == 0, "4.3.1: the Read list is not empty");
        judgeWrites(offered, returned);
        judgeReplyChunk(offered, returned, proc);
        int payload = length - returned.end();
        if (proc == RDMA_NOMSG) {
            expect(payload == 0, "4.2.4: payload after RDMA_NOMSG");
        } else if (payload < MINIMUM_REPLY) {
            expect(false, "4.2.4: RDMA_MSG without a reply");
        } else {
            expect(
                    reply.getInt(returned.end()) == call.getInt(0),
                    "4.2.1: payload with another XID");
            expect(reply.getInt(returned.end() + 4) == 1, "payload is not a reply");
        }
    }

    private void judgeWrites(Lists offered, Lists returned) {
        if (offered.writes().size() != returned.writes().size()) {
            expect(false, "3.4.6: another number of Write chunks");
            return;
        }
        for (int i = 0; i < offered.writes().size(); i++) {
            judgeChunk(offered.writes().get(i), returned.writes().get(i), "3.4.6: Write chunk");
        }
    }

    private void judgeReplyChunk(Lists offered, Lists returned, int proc) {
        if (offered.reply() == null || returned.reply() == null) {
            expect(offered.reply() == returned.reply(), "4.3.3: Reply chunk is not repeated");
            expect(proc == RDMA_MSG, "4.2.4: RDMA_NOMSG without a Reply chunk");
            return;
        }
        judgeChunk(offered.reply(), returned.reply(), "4.3.3: Reply chunk");
        long used = returned.reply().stream().mapToLong(Segment::length).sum();
        if (proc == RDMA_MSG) {
            expect(used == 0, "4.3.3: Reply chunk in use beside an inline reply");
        } else {
            expect(used >= MINIMUM_REPLY, "3.5.3: Reply chunk without a reply");
            expect((used & 3) == 0, "3.5.3: payload stream is not a multiple of 4 bytes");
        }
    }

    private void judgeChunk(List<Segment> offered, List<Segment> returned, String what) {
        if (offered.size() != returned.size()) {
            expect(false, what + " with another number of segments");
            return;
        }
        boolean hasEnded = false;
        for (int i = 0; i < offered.size(); i++) {
            Segment before = offered.get(i);
            Segment after = returned.get(i);
            expect(before.handle() == after.handle(), what + " with another handle");
            expect(before.offset() == after.offset(), what + " with another offset");
            expect(after.length() <= before.length(), what + " with more than was offered");
            expect(!hasEnded || after.length() == 0, what + " with a gap");
            hasEnded |= after.length() < before.length();
        }
    }

    private void expect(boolean holds, String violation) {
        if (!holds) {
            violations.add(violation);
        }
    }

    private static Lists parse(ByteBuffer message) {
        ByteBuffer in = message.duplicate().position(16);
        try {
            int reads = 0;
            while (present(in)) {
                in.position(in.position() + 20);
                reads++;
            }
            List<List<Segment>> writes = new ArrayList<>();
            while (present(in)) {
                writes.add(chunk(in));
            }
            List<Segment> reply = present(in) ? chunk(in) : null;
            return new Lists(reads, writes, reply, in.position());
        } catch (IllegalArgumentException | java.nio.BufferUnderflowException e) {
            return null;
        }
    }

    private static boolean present(ByteBuffer in) {
        int marker = in.getInt();
        if ((marker & ~1) != 0) {
            throw new IllegalArgumentException("marker");
        }
        return marker == 1;
    }

    private static List<Segment> chunk(ByteBuffer in) {
        int count = in.getInt();
        if (count < 0 || count > in.remaining() / 16) {
            throw new IllegalArgumentException("count");
        }
        List<Segment> segments = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            segments.add(
                    new Segment(in.getInt(), Integer.toUnsignedLong(in.getInt()), in.getLong()));
        }
        return segments;
    }
}
