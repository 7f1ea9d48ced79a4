// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.ddp;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;

/** Splits outbound messages into segments (RFC 5041, 5.1 and 5.2). */
public final class DdpSegmenter {

    private final int mulpdu;

    /** Whether a message was started and its last segment not yet made. */
    public boolean active;

    private boolean tagged;
    private int ulpControl;
    private int stagOrWord;
    private long taggedOffset;
    private int queue;
    private int messageNumber;
    private long sent;
    private long length;
    private PayloadSource source;

    /** @param mulpdu the largest ULPDU to send, in bytes */
    public DdpSegmenter(int mulpdu) {
        this.mulpdu = mulpdu;
    }

    /** Starts a tagged message. */
    public void startTagged(int control, int stag, long offset, long bytes, PayloadSource payload) {
        tagged = true;
        taggedOffset = offset;
        start(control, stag, bytes, payload);
    }

    /** Starts an untagged message. */
    public void startUntagged(
            int control, int ulpWord, int qn, int msn, long bytes, PayloadSource payload) {
        tagged = false;
        queue = qn;
        messageNumber = msn;
        start(control, ulpWord, bytes, payload);
    }

    private void start(int control, int word, long bytes, PayloadSource payload) {
        active = true;
        ulpControl = control;
        stagOrWord = word;
        sent = 0;
        length = bytes;
        source = payload;
    }

    /** Makes the next segment of the message; a message without payload has one. */
    public void next(FpduSender out) throws IOException {
        int header = tagged ? DdpSegmentHeader.TAGGED_BYTES : DdpSegmentHeader.UNTAGGED_BYTES;
        int wanted = (int) Math.min(length - sent, mulpdu - header);
        int bytes = wanted == 0 ? 0 : source.admit(wanted);
        boolean last = sent + bytes == length;
        ByteBuffer headers = out.begin(header + bytes);
        if (tagged) {
            DdpSegmentHeader.encodeTagged(
                    headers, last, ulpControl, stagOrWord, taggedOffset + sent);
        } else {
            DdpSegmentHeader.encodeUntagged(
                    headers, last, ulpControl, stagOrWord, queue, messageNumber, (int) sent);
        }
        if (bytes > 0) {
            source.gather(out, bytes);
        }
        out.end();
        sent += bytes;
        active = !last;
    }
}
