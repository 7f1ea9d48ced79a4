// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import io.netty.channel.FileRegion;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.function.Consumer;

/** A region that shows its bytes as they are transferred: nobody knows them before. Event loop only. */
@SuppressWarnings("deprecation") // FileRegion.transfered
final class CapturedFileRegion implements FileRegion {

    private final FileRegion region;
    private final Consumer<CapturedFileRegion> begins;
    private final Consumer<ByteBuffer> shows;

    /**
     * @param region takes its place, with its reference count
     * @param begins called before each transfer
     * @param shows called with each piece
     */
    CapturedFileRegion(
            FileRegion region, Consumer<CapturedFileRegion> begins, Consumer<ByteBuffer> shows) {
        this.region = region;
        this.begins = begins;
        this.shows = shows;
    }

    @Override
    public long transferTo(WritableByteChannel target, long position) throws IOException {
        begins.accept(this);
        return region.transferTo(new Shown(target), position);
    }

    /** A target that shows what it has taken. */
    private final class Shown implements WritableByteChannel {
        private final WritableByteChannel target;

        Shown(WritableByteChannel target) {
            this.target = target;
        }

        @Override
        public int write(ByteBuffer source) throws IOException {
            ByteBuffer taken = source.duplicate();
            int length = target.write(source);
            if (length > 0) {
                shows.accept(taken.limit(taken.position() + length));
            }
            return length;
        }

        @Override
        public boolean isOpen() {
            return target.isOpen();
        }

        @Override
        public void close() throws IOException {
            target.close();
        }
    }

    @Override
    public long position() {
        return region.position();
    }

    @Override
    public long transfered() {
        return region.transfered();
    }

    @Override
    public long transferred() {
        return region.transferred();
    }

    @Override
    public long count() {
        return region.count();
    }

    @Override
    public int refCnt() {
        return region.refCnt();
    }

    @Override
    public FileRegion retain() {
        region.retain();
        return this;
    }

    @Override
    public FileRegion retain(int increment) {
        region.retain(increment);
        return this;
    }

    @Override
    public FileRegion touch() {
        region.touch();
        return this;
    }

    @Override
    public FileRegion touch(Object hint) {
        region.touch(hint);
        return this;
    }

    @Override
    public boolean release() {
        return region.release();
    }

    @Override
    public boolean release(int decrement) {
        return region.release(decrement);
    }
}
