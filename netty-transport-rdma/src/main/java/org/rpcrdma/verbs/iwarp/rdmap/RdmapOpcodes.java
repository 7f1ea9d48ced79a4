// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.iwarp.ddp.DdpError;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/** RDMAP's operation codes, the queues of their messages and the control byte: RFC 5040, 4. */
public final class RdmapOpcodes {

    public static final int WRITE = 0;
    public static final int READ_REQUEST = 1;
    public static final int READ_RESPONSE = 2;
    public static final int SEND = 3;
    public static final int SEND_INVALIDATE = 4;
    public static final int SEND_SOLICITED = 5;
    public static final int SEND_SOLICITED_INVALIDATE = 6;
    public static final int TERMINATE = 7;

    /** The QN of Sends. */
    public static final int QUEUE_SEND = 0;

    /** The QN of Read Requests. */
    public static final int QUEUE_READ = 1;

    /** The QN of the Terminate. */
    public static final int QUEUE_TERMINATE = 2;

    private static final int VERSION = 1;
    private static final int OPCODE_MASK = 0x0f;

    private RdmapOpcodes() {}

    /** The control byte of an operation. */
    public static int control(int opcode) {
        return (VERSION << 6) | opcode;
    }

    /** The opcode in a control byte. */
    public static int opcode(int control) {
        return control & OPCODE_MASK;
    }

    /** Whether an opcode is one of the four Sends. */
    public static boolean isSend(int opcode) {
        return opcode >= SEND && opcode <= SEND_SOLICITED_INVALIDATE;
    }

    /** Whether an opcode carries an STag to invalidate. */
    public static boolean invalidates(int opcode) {
        return opcode == SEND_INVALIDATE || opcode == SEND_SOLICITED_INVALIDATE;
    }

    /**
     * Checks what RFC 5040, 4.1 says of every segment: version, opcode, buffer model and queue.
     *
     * @return the opcode
     */
    static int check(DdpSegmentHeader segment) throws StreamException {
        int control = segment.ulpControl;
        if (control >>> 6 != VERSION) {
            throw new StreamException(
                    RdmapError.OPERATION_VERSION,
                    "RDMAP message has version " + (control >>> 6) + ", expected " + VERSION);
        }
        int opcode = control & OPCODE_MASK;
        if (opcode > TERMINATE
                || segment.isTagged != (opcode == WRITE || opcode == READ_RESPONSE)) {
            throw new StreamException(
                    RdmapError.OPERATION_UNEXPECTED_OPCODE,
                    "RDMAP opcode "
                            + opcode
                            + " came in "
                            + (segment.isTagged ? "a tagged" : "an untagged")
                            + " segment, which is not defined");
        }
        int expected = opcode == READ_REQUEST ? QUEUE_READ : QUEUE_SEND;
        // A Terminate is never answered with a Terminate, so it is not validated further.
        if (!segment.isTagged && opcode != TERMINATE && segment.queueNumber != expected) {
            throw new StreamException(
                    DdpError.UNTAGGED_QN,
                    "RDMAP opcode "
                            + opcode
                            + " came on queue "
                            + Integer.toUnsignedString(segment.queueNumber)
                            + ", expected "
                            + expected);
        }
        return opcode;
    }
}
