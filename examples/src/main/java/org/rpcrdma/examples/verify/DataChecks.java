// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.verify;

import static org.rpcrdma.verbs.QueuePair.REMOTE_READ;
import static org.rpcrdma.verbs.QueuePair.REMOTE_WRITE;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;

import java.io.IOException;
import java.util.List;
import org.rpcrdma.verbs.DeviceCapabilities;

/** What Sends, Writes, Reads and keys have to do. */
final class DataChecks extends Checks {

    DataChecks(Ends ends) {
        super(ends);
    }

    @Override
    List<Check> all() {
        return List.of(
                new Check("messages arrive whole and in order", Checks::always, this::messages),
                new Check(
                        "a message is gathered from as many ranges as the device takes",
                        Checks::always,
                        this::gathering),
                new Check("RDMA Writes reach what is exposed", Checks::always, this::writing),
                new Check(
                        "an RDMA Write with Immediate writes and tells",
                        DeviceCapabilities::writesWithImmediate,
                        this::immediate),
                new Check("RDMA Reads fetch what is exposed", Checks::always, this::reading),
                new Check("keys can be used up again and again", Checks::always, this::manyKeys),
                new Check(
                        "a peer reaches nothing beside what is exposed",
                        DeviceCapabilities::exactExposure,
                        this::beside),
                new Check("a key that has ended is of no use", Checks::always, this::ended),
                new Check(
                        "a peer invalidates a key with its message",
                        DeviceCapabilities::remoteInvalidation,
                        this::remoteInvalidation),
                new Check(
                        "a key is good for its own connection only",
                        DeviceCapabilities::keyPerConnection,
                        this::foreignKey));
    }

    private void messages() throws IOException {
        connect();
        int[] lengths = {1, 4, 1000, 4096, 4097, 65536, HALF, 0, 5};
        for (int length : lengths) {
            far.receive(1, 0, HALF);
            ends.far.poll(1);
            byte[] sent = fill(near, 0, length);
            near.send(2, 0, length);
            ends.until("a message", () -> far.isComplete(1) && near.isComplete(2));
            requireSuccess(near, 2);
            requireSuccess(far, 1);
            require(far.length() == length, far.length() + " bytes came of " + length);
            requireSame(far, 0, sent);
        }
        for (int i = 0; i < ends.size.receiveDepth(); i++) {
            far.receive(i, i, 1);
        }
        ends.far.poll(1);
        for (int i = 0; i < ends.size.sendDepth(); i++) {
            near.memory.setByte(i, i + 1);
            near.queuePair.send(i, i == ends.size.sendDepth() - 1 ? SIGNALED : 0);
            near.gather(i, 1);
        }
        near.queuePair.doorbell();
        int last = ends.size.sendDepth() - 1;
        ends.until("the last of many messages", () -> far.isComplete(last));
        for (int i = 0; i <= last; i++) {
            requireSuccess(far, i);
            require(far.memory.getByte(i) == i + 1, "message " + i + " came out of order");
        }
    }

    private void gathering() throws IOException {
        connect();
        int most = can.maxScatterGather();
        far.receive(1, 0, HALF);
        ends.far.poll(1);
        near.queuePair.send(2, SIGNALED);
        byte[] whole = new byte[most * 100];
        for (int i = 0; i < most; i++) {
            System.arraycopy(fill(near, i * 1000, 100), 0, whole, i * 100, 100);
            near.gather(i * 1000, 100);
        }
        near.queuePair.doorbell();
        ends.until("a message", () -> far.isComplete(1));
        requireSuccess(far, 1);
        require(far.length() == whole.length, far.length() + " bytes came of " + whole.length);
        requireSame(far, 0, whole);
    }

    private void immediate() throws IOException {
        connect();
        byte[] sent = fill(near, HALF, 1000);
        int key = far.expose(8, 1000, REMOTE_WRITE);
        far.receive(1, 0, 0);
        far.receive(2, 0, 0);
        ends.far.poll(1);
        near.queuePair.writeWithImmediate(3, 0, far.queuePair.exposedOffset(key), key, 0x0102_0304);
        near.gather(HALF, 1000).queuePair.writeWithImmediate(4, SIGNALED, 0, 0, -2);
        near.queuePair.doorbell();
        ends.until("two immediates", () -> far.immediates.size() == 2 && near.isComplete(4));
        requireSuccess(near, 4);
        require(
                far.immediates.equals(List.of(0x0102_0304, -2)),
                "the immediates came as " + far.immediates);
        requireSame(far, 8, sent);
        far.queuePair.invalidate(key);
    }

    private void write(int key, long offset, int from, int length) {
        near.queuePair.write(1, SIGNALED, offset, key);
        near.gather(from, length).queuePair.doorbell();
        // A Send behind it: when it has come, so have the bytes.
        far.receive(2, BYTES - 4, 4);
        ends.far.poll(1);
        near.send(3, 0, 4);
    }

    private void writing() throws IOException {
        connect();
        for (int length : new int[] {1, 4097, HALF - 8}) {
            byte[] sent = fill(near, HALF, length);
            int key = far.expose(8, length, REMOTE_WRITE);
            write(key, far.queuePair.exposedOffset(key), HALF, length);
            ends.until("a Write", () -> near.isComplete(1) && far.isComplete(2));
            requireSuccess(near, 1);
            requireSuccess(near, 3);
            requireSuccess(far, 2);
            requireSame(far, 8, sent);
            far.queuePair.invalidate(key);
        }
    }

    private void reading() throws IOException {
        connect();
        int ranges = can.maxScatterGather();
        for (int each : new int[] {1, 1000, HALF / 4 / ranges}) {
            byte[] there = fill(far, 0, each * ranges);
            int key = far.expose(0, there.length, REMOTE_READ);
            near.queuePair.read(1, SIGNALED, far.queuePair.exposedOffset(key), key);
            for (int i = 0; i < ranges; i++) {
                near.gather(i * each, each);
            }
            near.queuePair.doorbell();
            ends.until("a Read", () -> near.isComplete(1));
            requireSuccess(near, 1);
            requireSame(near, 0, there);
            far.queuePair.invalidate(key);
        }
    }

    private void manyKeys() throws IOException {
        connect();
        int[] keys = new int[ends.size.sendDepth()];
        for (int round = 0; round < MANY; round++) {
            for (int i = 0; i < keys.length; i++) {
                keys[i] = far.expose(i * 8, 8, REMOTE_WRITE);
            }
            int chosen = round % keys.length;
            byte[] sent = fill(near, HALF, 8);
            write(keys[chosen], far.queuePair.exposedOffset(keys[chosen]), HALF, 8);
            ends.until("a Write", () -> near.isComplete(3) && far.isComplete(2));
            requireSuccess(near, 1);
            requireSuccess(near, 3);
            requireSuccess(far, 2);
            requireSame(far, chosen * 8, sent);
            for (int key : keys) {
                far.queuePair.invalidate(key);
            }
        }
    }

    /** Writes where it may not, which has to cost the connection and to change nothing. */
    private void forbidden(int key, long offset, int length, int untouchedAt) {
        byte[] before = new byte[length];
        far.memory.getBytes(untouchedAt, before);
        fill(near, HALF, length);
        near.queuePair.write(1, SIGNALED, offset, key);
        near.gather(HALF, length).queuePair.doorbell();
        ends.until("the end of the connection", () -> near.hasEnded || far.hasEnded);
        requireSame(far, untouchedAt, before);
    }

    private void beside() throws IOException {
        connect();
        int key = far.expose(100, 100, REMOTE_WRITE);
        forbidden(key, far.queuePair.exposedOffset(key) + 96, 8, 196);
    }

    private void ended() throws IOException {
        connect();
        int key = far.expose(100, 100, REMOTE_WRITE);
        long offset = far.queuePair.exposedOffset(key);
        far.queuePair.invalidate(key);
        forbidden(key, offset, 8, 100);
    }

    private void remoteInvalidation() throws IOException {
        connect();
        for (int round = 0; round < MANY; round++) {
            int key = far.expose(0, 100, REMOTE_READ);
            far.receive(1, HALF, 8);
            ends.far.poll(1);
            near.queuePair.sendWithInvalidate(2, SIGNALED, key);
            near.gather(0, 8).queuePair.doorbell();
            ends.until("a message", () -> far.isComplete(1) && near.isComplete(2));
            requireSuccess(near, 2);
            requireSuccess(far, 1);
            require(far.invalidatedKey() == key, "the message did not name the key");
            require(!far.queuePair.isExposed(key), "the key is still exposed");
        }
        int key = far.expose(0, 100, REMOTE_WRITE);
        long offset = far.queuePair.exposedOffset(key);
        far.receive(1, HALF, 8);
        ends.far.poll(1);
        near.queuePair.sendWithInvalidate(2, SIGNALED, key);
        near.gather(0, 8).queuePair.doorbell();
        ends.until("a message", () -> far.isComplete(1) && near.isComplete(2));
        near.take(2);
        forbidden(key, offset, 8, 0);
    }

    private void foreignKey() throws IOException {
        connect();
        End owner = far;
        int key = owner.expose(0, 100, REMOTE_WRITE);
        long offset = owner.queuePair.exposedOffset(key);
        connect();
        End victim = far;
        far = owner;
        byte[] before = new byte[8];
        owner.memory.getBytes(0, before);
        near.queuePair.write(1, SIGNALED, offset, key);
        near.gather(HALF, 8).queuePair.doorbell();
        ends.until("the end of the connection", () -> near.hasEnded || victim.hasEnded);
        requireSame(owner, 0, before);
    }
}
