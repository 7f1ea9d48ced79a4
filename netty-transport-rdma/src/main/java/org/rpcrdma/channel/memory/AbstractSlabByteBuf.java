// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.ScatteringByteChannel;

/**
 * Abstract {@code ByteBuf} over a range of a {@link Slab}. The subclass owns the range. Public because a public class
 * gets a method more, which calls the inherited one, for each of a class that is not.
 */
public abstract class AbstractSlabByteBuf extends AbstractCountedByteBuf {

    /** Whether to access numbers without {@link ByteBuffer}, which repeats the bounds checks. */
    private static final boolean IS_DIRECT =
            PlatformDependent.hasUnsafe() && PlatformDependent.isUnaligned();

    private static final boolean IS_REVERSED = !PlatformDependent.BIG_ENDIAN_NATIVE_ORDER;

    private ByteBuffer memory;
    private ByteBuffer internal;

    /** Native address of byte 0, if the JVM exposes it. */
    private long address;

    /** Of byte 0 in the slab. */
    int offset;

    /** Sets slab and offset of this buffer. */
    final void begin(Slab slab, int newOffset) {
        memory = slab.memory;
        offset = newOffset;
        address = slab.address + newOffset;
    }

    /** Detaches this buffer from its slab. */
    final void end() {
        memory = null;
        internal = null;
    }

    /** Moves byte 0 forward by {@code count} bytes. */
    final void skip(int count) {
        offset += count;
        address += count;
    }

    /** Of byte 0; without a meaning where the JVM does not tell. */
    final long nativeAddress() {
        return address;
    }

    /**
     * As {@link #checkIndex(int, int)} of Netty, which walks through many methods: bounds, and that a reference is
     * left.
     */
    abstract void check(int index, int length);

    /** As {@link #check(int, int)}, for bytes that are copied from or to another memory. */
    private void check(int index, int length, int otherIndex, int otherCapacity) {
        check(index, length);
        if (otherIndex < 0 || otherIndex > otherCapacity - length) {
            checkDstIndex(index, length, otherIndex, otherCapacity); // names the values
        }
    }

    // ------------------------------------------------------------------ what it is

    @Override
    public ByteBufAllocator alloc() {
        return ByteBufAllocator.DEFAULT;
    }

    @Override
    @SuppressWarnings("deprecation")
    public ByteOrder order() {
        return ByteOrder.BIG_ENDIAN;
    }

    @Override
    public ByteBuf unwrap() {
        return null;
    }

    @Override
    public boolean isDirect() {
        return true;
    }

    @Override
    public boolean isContiguous() {
        return true;
    }

    @Override
    public boolean hasArray() {
        return false;
    }

    @Override
    public byte[] array() {
        throw new UnsupportedOperationException("direct buffer");
    }

    @Override
    public int arrayOffset() {
        throw new UnsupportedOperationException("direct buffer");
    }

    // ------------------------------------------------------------------ numbers

    @Override
    public int getInt(int index) {
        check(index, Integer.BYTES);
        return _getInt(index);
    }

    @Override
    public long getLong(int index) {
        check(index, Long.BYTES);
        return _getLong(index);
    }

    @Override
    protected byte _getByte(int index) {
        return IS_DIRECT ? PlatformDependent.getByte(address + index) : memory.get(offset + index);
    }

    @Override
    protected short _getShort(int index) {
        if (IS_DIRECT) {
            short value = PlatformDependent.getShort(address + index);
            return IS_REVERSED ? Short.reverseBytes(value) : value;
        }
        return memory.getShort(offset + index);
    }

    @Override
    protected short _getShortLE(int index) {
        return Short.reverseBytes(_getShort(index));
    }

    @Override
    protected int _getUnsignedMedium(int index) {
        return ((_getShort(index) & 0xffff) << 8) | (_getByte(index + 2) & 0xff);
    }

    @Override
    protected int _getUnsignedMediumLE(int index) {
        return (_getShortLE(index) & 0xffff) | ((_getByte(index + 2) & 0xff) << 16);
    }

    @Override
    protected int _getInt(int index) {
        if (IS_DIRECT) {
            int value = PlatformDependent.getInt(address + index);
            return IS_REVERSED ? Integer.reverseBytes(value) : value;
        }
        return memory.getInt(offset + index);
    }

    @Override
    protected int _getIntLE(int index) {
        return Integer.reverseBytes(_getInt(index));
    }

    @Override
    protected long _getLong(int index) {
        if (IS_DIRECT) {
            long value = PlatformDependent.getLong(address + index);
            return IS_REVERSED ? Long.reverseBytes(value) : value;
        }
        return memory.getLong(offset + index);
    }

    @Override
    protected long _getLongLE(int index) {
        return Long.reverseBytes(_getLong(index));
    }

    @Override
    protected void _setByte(int index, int value) {
        if (IS_DIRECT) {
            PlatformDependent.putByte(address + index, (byte) value);
        } else {
            memory.put(offset + index, (byte) value);
        }
    }

    @Override
    protected void _setShort(int index, int value) {
        if (IS_DIRECT) {
            PlatformDependent.putShort(
                    address + index,
                    IS_REVERSED ? Short.reverseBytes((short) value) : (short) value);
        } else {
            memory.putShort(offset + index, (short) value);
        }
    }

    @Override
    protected void _setShortLE(int index, int value) {
        _setShort(index, Short.reverseBytes((short) value));
    }

    @Override
    protected void _setMedium(int index, int value) {
        _setShort(index, value >>> 8);
        _setByte(index + 2, value);
    }

    @Override
    protected void _setMediumLE(int index, int value) {
        _setShortLE(index, value);
        _setByte(index + 2, value >>> 16);
    }

    @Override
    protected void _setInt(int index, int value) {
        if (IS_DIRECT) {
            PlatformDependent.putInt(
                    address + index, IS_REVERSED ? Integer.reverseBytes(value) : value);
        } else {
            memory.putInt(offset + index, value);
        }
    }

    @Override
    protected void _setIntLE(int index, int value) {
        _setInt(index, Integer.reverseBytes(value));
    }

    @Override
    protected void _setLong(int index, long value) {
        if (IS_DIRECT) {
            PlatformDependent.putLong(
                    address + index, IS_REVERSED ? Long.reverseBytes(value) : value);
        } else {
            memory.putLong(offset + index, value);
        }
    }

    @Override
    protected void _setLongLE(int index, long value) {
        _setLong(index, Long.reverseBytes(value));
    }

    // ------------------------------------------------------------------ bytes

    @Override
    public ByteBuf getBytes(int index, ByteBuf target, int targetIndex, int length) {
        check(index, length, targetIndex, target.capacity());
        if (target.hasArray()) {
            memory.get(offset + index, target.array(), target.arrayOffset() + targetIndex, length);
        } else if (IS_DIRECT && target.hasMemoryAddress()) {
            PlatformDependent.copyMemory(
                    address + index, target.memoryAddress() + targetIndex, length);
        } else {
            target.setBytes(targetIndex, nioBuffer(index, length));
        }
        return this;
    }

    @Override
    public ByteBuf getBytes(int index, byte[] target, int targetIndex, int length) {
        check(index, length, targetIndex, target.length);
        memory.get(offset + index, target, targetIndex, length);
        return this;
    }

    @Override
    public ByteBuf getBytes(int index, ByteBuffer target) {
        checkIndex(index, target.remaining());
        target.put(view(index, target.remaining()));
        return this;
    }

    @Override
    public ByteBuf getBytes(int index, OutputStream out, int length) throws IOException {
        byte[] bytes = new byte[length];
        getBytes(index, bytes, 0, length);
        out.write(bytes);
        return this;
    }

    @Override
    public int getBytes(int index, GatheringByteChannel out, int length) throws IOException {
        return out.write(nioBuffer(index, length));
    }

    @Override
    public int getBytes(int index, FileChannel out, long position, int length) throws IOException {
        return out.write(nioBuffer(index, length), position);
    }

    @Override
    public ByteBuf setBytes(int index, ByteBuf source, int sourceIndex, int length) {
        check(index, length, sourceIndex, source.capacity());
        if (source.hasArray()) {
            memory.put(offset + index, source.array(), source.arrayOffset() + sourceIndex, length);
        } else if (IS_DIRECT && source.hasMemoryAddress()) {
            PlatformDependent.copyMemory(
                    source.memoryAddress() + sourceIndex, address + index, length);
        } else if (source.nioBufferCount() > 1) {
            source.getBytes(
                    sourceIndex, this, index, length); // in contiguous pieces, each as above
        } else {
            source.getBytes(sourceIndex, nioBuffer(index, length));
        }
        return this;
    }

    /** Netty's own way is eight bytes at a time. */
    @Override
    public ByteBuf setZero(int index, int length) {
        if (!IS_DIRECT) {
            return super.setZero(index, length);
        }
        checkIndex(index, length);
        PlatformDependent.setMemory(address + index, length, (byte) 0);
        return this;
    }

    @Override
    public ByteBuf setBytes(int index, byte[] source, int sourceIndex, int length) {
        check(index, length, sourceIndex, source.length);
        memory.put(offset + index, source, sourceIndex, length);
        return this;
    }

    @Override
    public ByteBuf setBytes(int index, ByteBuffer source) {
        checkIndex(index, source.remaining());
        view(index, source.remaining()).put(source);
        return this;
    }

    @Override
    public int setBytes(int index, InputStream in, int length) throws IOException {
        checkIndex(index, length);
        byte[] bytes = new byte[length];
        int read = in.read(bytes);
        if (read > 0) {
            setBytes(index, bytes, 0, read);
        }
        return read;
    }

    @Override
    public int setBytes(int index, ScatteringByteChannel in, int length) throws IOException {
        try {
            return in.read(nioBuffer(index, length));
        } catch (ClosedChannelException ignored) {
            return -1;
        }
    }

    @Override
    public int setBytes(int index, FileChannel in, long position, int length) throws IOException {
        try {
            return in.read(nioBuffer(index, length), position);
        } catch (ClosedChannelException ignored) {
            return -1;
        }
    }

    @Override
    public ByteBuf copy(int index, int length) {
        checkIndex(index, length);
        return alloc().directBuffer(length, maxCapacity()).writeBytes(this, index, length);
    }

    // ------------------------------------------------------------------ views

    @Override
    public int nioBufferCount() {
        return 1;
    }

    /** A new view, because callers may keep it. */
    @Override
    public ByteBuffer nioBuffer(int index, int length) {
        checkIndex(index, length);
        return memory.slice(offset + index, length);
    }

    @Override
    public ByteBuffer[] nioBuffers(int index, int length) {
        return new ByteBuffer[] {nioBuffer(index, length)};
    }

    @Override
    public ByteBuffer internalNioBuffer(int index, int length) {
        checkIndex(index, length);
        return view(index, length);
    }

    /** The shared view of this buffer, valid until the next call. */
    private ByteBuffer view(int index, int length) {
        if (internal == null) {
            internal = memory.duplicate();
        }
        return internal.limit(offset + index + length).position(offset + index);
    }
}
