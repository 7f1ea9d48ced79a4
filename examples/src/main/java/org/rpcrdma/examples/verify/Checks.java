// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.verify;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.WorkStatus;

/** Checks of one kind, and what they share: a connection and words for what it has to do. */
abstract class Checks {

    static final int BYTES = 1 << 20;
    static final int HALF = BYTES / 2;
    static final int MANY = 50;

    /** Something to check. */
    interface Body {
        void run() throws IOException;
    }

    /** For what any device has to do. */
    static boolean always(DeviceCapabilities any) {
        return true;
    }

    record Check(String name, Predicate<DeviceCapabilities> applies, Body body) {}

    final Ends ends;
    final DeviceCapabilities can;
    final Random random = new Random(1);
    End near;
    End far;

    Checks(Ends ends) {
        this.ends = ends;
        this.can = ends.near.capabilities();
    }

    abstract List<Check> all();

    static void require(boolean holds, String sentence) {
        if (!holds) {
            throw new IllegalStateException(sentence);
        }
    }

    static void requireSuccess(End end, long id) {
        WorkStatus status = end.take(id);
        require(status == WorkStatus.SUCCESS, "a work request ended with " + status);
    }

    byte[] fill(End end, int at, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        end.memory.setBytes(at, bytes);
        return bytes;
    }

    static void requireSame(End end, int at, byte[] expected) {
        byte[] bytes = new byte[expected.length];
        end.memory.getBytes(at, bytes);
        int wrong = Arrays.mismatch(bytes, expected);
        require(
                wrong < 0,
                "byte " + wrong + " of " + bytes.length + " is not the one that was sent");
    }

    void connect() throws IOException {
        near = ends.connecting(BYTES, ends.listener.localAddress());
        far = ends.accept(BYTES);
        ends.established(near, far);
    }
}
