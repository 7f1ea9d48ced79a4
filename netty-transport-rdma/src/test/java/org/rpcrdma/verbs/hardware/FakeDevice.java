// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.verbs.DeviceCapabilities;

/** Memory, windows and completions without a device; connections there are none. */
final class FakeDevice implements NativeEventLoopDevice {

    /** The work requests that are complete, all with success. */
    final ArrayDeque<Long> completions = new ArrayDeque<>();

    /** What the device has refused. */
    final List<String> refusals = new ArrayList<>();

    int registrations;
    int windows;
    int lastKey;

    @Override
    public DeviceCapabilities capabilities() {
        return DeviceCapabilities.builder().remoteInvalidation(true).build();
    }

    @Override
    public int completions() {
        return Integer.MAX_VALUE;
    }

    @Override
    public boolean needsRemoteSinks() {
        return false;
    }

    @Override
    public long address(ByteBuffer memory) {
        return PlatformDependent.directBufferAddress(memory);
    }

    @Override
    public Region register(ByteBuffer memory, int access) {
        return register(address(memory), memory.capacity(), access);
    }

    @Override
    public Region register(long address, int length, int access) {
        registrations++;
        return new Region(address, length, ++lastKey);
    }

    @Override
    public Window newWindow() {
        windows++;
        return new Window();
    }

    @Override
    public int poll(NativeMemory to, int index, int most) {
        int count = Math.min(most, completions.size());
        for (int i = 0; i < count; i++) {
            int at = index + i * WorkRequestLayout.WC_SIZE;
            to.bytes.putLong(at + WorkRequestLayout.WC_ID, completions.remove());
            to.bytes.putInt(at + WorkRequestLayout.WC_STATUS, VerbsConstants.SUCCESS);
            to.bytes.putInt(at + WorkRequestLayout.WC_OPCODE, 0);
            to.bytes.putInt(at + WorkRequestLayout.WC_FLAGS, 0);
        }
        return count;
    }

    /** It cannot end as long as a window is bound to it, as {@code ibv_dereg_mr} says. */
    final class Region extends NativeRegion {
        int bound;

        Region(long address, int length, int key) {
            super(address, length, key, key);
        }

        @Override
        protected void end() throws IOException {
            if (bound > 0) {
                refusals.add("a registration ends with " + bound + " windows");
                throw new IOException("ibv_dereg_mr failed: Device or resource busy");
            }
            registrations--;
        }
    }

    final class Window extends NativeWindow {
        Window() {
            super(0x100);
        }

        @Override
        protected void remember(int boundKey) {}

        @Override
        protected long pointer() {
            return 0;
        }

        @Override
        protected void end() {
            windows--;
        }
    }

    @Override
    public NativeCmId newId() {
        throw new UnsupportedOperationException();
    }

    @Override
    public InetSocketAddress connectFrom(InetSocketAddress local, InetSocketAddress peer) {
        throw new UnsupportedOperationException();
    }

    @Override
    public InetSocketAddress listenAt(InetSocketAddress local) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int deliverEvents(int most) {
        return 0;
    }

    @Override
    public void arm() {}

    @Override
    public void sleep(long nanos) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void wakeup() {}

    @Override
    public void close() {}
}
