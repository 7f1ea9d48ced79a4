// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.NfsFixture;
import org.rpcrdma.examples.common.Calls;
import org.rpcrdma.examples.common.Xdr;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/**
 * A server without root's right to go past modes, and files whose modes keep its user out: refused, not lost. Where the
 * tests are run by root, {@link UnreadableFileByRootTest} runs these.
 */
class UnreadableFileTest {

    private static final int GETATTR = 1;
    private static final int SETATTR = 2;
    private static final int LOOKUP = 3;
    private static final int WRITE = 7;
    private static final int COMMIT = 21;

    /** What {@link #mayAll} makes. */
    static final String UNREADABLE = "unreadable";

    @TempDir Path directory;
    @TempDir Path state;

    private NfsFixture fixture;

    @BeforeEach
    void serve() throws IOException {
        assumeThat(mayAll(state)).as("root may all").isFalse();
        fixture = new NfsFixture(NfsFixture.Transport.TCP, directory, state.resolve("key"), false);
    }

    /** Whether modes keep this process out of nothing. */
    static boolean mayAll(Path directory) throws IOException {
        Path unreadable = Files.createFile(directory.resolve(UNREADABLE));
        Files.setAttribute(unreadable, "unix:mode", 0);
        return Files.isReadable(unreadable);
    }

    @AfterEach
    void stop() {
        if (fixture != null) {
            fixture.close();
        }
    }

    private int status(int procedure, NfsHandle file, ByteBuf more) throws IOException {
        ByteBuf arguments = Unpooled.buffer();
        file.writeTo(new XdrWriter(arguments));
        arguments.writeBytes(more);
        return Calls.await(fixture.nfs().call(procedure, arguments), ByteBuf::readInt);
    }

    private int chmod(NfsHandle file, int mode) throws IOException {
        return status(SETATTR, file, Unpooled.buffer().writeInt(1).writeInt(mode).writeZero(6 * 4));
    }

    private static int mode(Path file) throws IOException {
        return (int) Files.getAttribute(file, "unix:mode") & 07777;
    }

    @Test
    void aModeThatLetsNobodyInIsTakenBack() throws IOException {
        Path file = Files.writeString(directory.resolve("f"), "");
        Path below = Files.createDirectory(directory.resolve("d"));
        for (Path each : new Path[] {file, below}) {
            NfsHandle handle =
                    fixture.nfs().lookup(fixture.root(), each.getFileName().toString()).handle();
            for (int mode : new int[] {0, 0700, 0111, 0222, 0755}) {
                assertThat(chmod(handle, mode)).as(each + " to %o", mode).isZero();
                assertThat(mode(each)).isEqualTo(mode);
                assertThat(status(GETATTR, handle, Unpooled.EMPTY_BUFFER)).isZero();
            }
        }
    }

    @Test
    void aDirectoryThatCannotBeReadIsNotStale() throws IOException {
        Path below = Files.createDirectory(directory.resolve("d"));
        Files.createDirectory(below.resolve("e"));
        NfsHandle d = fixture.nfs().lookup(fixture.root(), "d").handle();
        NfsHandle e = fixture.nfs().lookup(d, "e").handle();
        Files.setAttribute(below, "unix:mode", 0111);
        fixture.close();
        fixture = new NfsFixture(NfsFixture.Transport.TCP, directory, state.resolve("key"), false);
        d = fixture.nfs().lookup(fixture.root(), "d").handle();
        ByteBuf name = Unpooled.buffer();
        Xdr.writeString(name, "e");
        assertThat(status(LOOKUP, d, name)).isEqualTo(Nfs3Status.NFS3ERR_ACCES);
        Files.setAttribute(below, "unix:mode", 0755);
        assertThat(fixture.nfs().lookup(d, "e").handle()).isEqualTo(e);
    }

    @Test
    void whatIsWrittenIsCommittedThoughTheModeHasChanged() throws IOException {
        NfsHandle file = fixture.nfs().create(fixture.root(), "f", 0644).handle();
        ByteBuf data = Unpooled.directBuffer().writeInt(0x61626364);
        fixture.nfs().await(fixture.nfs().write(file, "f", 0, data));
        assertThat(chmod(file, 0444)).isZero();
        assertThat(status(COMMIT, file, Unpooled.buffer().writeZero(12))).isZero();
    }

    /** Nor is the mode another one for a moment, which the time of the last change would tell. */
    @Test
    void whatItsOwnerMayNotWriteStaysAsItIs() throws IOException {
        Path file = Files.writeString(directory.resolve("f"), "text");
        Files.setAttribute(file, "unix:mode", 0400);
        Object changed = Files.getAttribute(file, "unix:ctime");
        NfsHandle handle = fixture.nfs().lookup(fixture.root(), "f").handle();
        ByteBuf write = Unpooled.buffer().writeLong(0).writeInt(4).writeInt(2).writeInt(4);
        assertThat(status(WRITE, handle, write.writeInt(0))).isEqualTo(Nfs3Status.NFS3ERR_ACCES);
        ByteBuf size = Unpooled.buffer().writeZero(3 * 4).writeInt(1).writeZero(8 + 3 * 4);
        assertThat(status(SETATTR, handle, size)).isEqualTo(Nfs3Status.NFS3ERR_ACCES);
        assertThat(status(COMMIT, handle, Unpooled.buffer().writeZero(12))).isZero();
        assertThat(file).hasContent("text");
        assertThat(Files.getAttribute(file, "unix:ctime")).isEqualTo(changed);
    }
}
