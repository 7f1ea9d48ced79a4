// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.rpc.RpcStatusException;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.NfsFixture;
import org.rpcrdma.examples.client.MountClient;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsAttributes;
import org.rpcrdma.examples.client.NfsStatusException;
import org.rpcrdma.examples.common.Calls;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.common.Xdr;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** Every procedure (RFC 1813, 3.3) by its bytes on the wire; the transport is TCP, on which nothing else depends. */
class NfsProceduresTest {

    private static final int SETATTR = 2;
    private static final int LOOKUP = 3;
    private static final int ACCESS = 4;
    private static final int READLINK = 5;
    private static final int READ = 6;
    private static final int WRITE = 7;
    private static final int CREATE = 8;
    private static final int MKDIR = 9;
    private static final int SYMLINK = 10;
    private static final int MKNOD = 11;
    private static final int REMOVE = 12;
    private static final int RMDIR = 13;
    private static final int RENAME = 14;
    private static final int LINK = 15;
    private static final int READDIR = 16;
    private static final int READDIRPLUS = 17;
    private static final int FSSTAT = 18;
    private static final int FSINFO = 19;
    private static final int PATHCONF = 20;
    private static final int COMMIT = 21;

    @TempDir private Path directory;
    @TempDir private Path state;

    private NfsFixture fixture;
    private NfsHandle root;

    @BeforeEach
    void start() throws IOException {
        open(false);
    }

    private void open(boolean readOnly) throws IOException {
        fixture =
                new NfsFixture(NfsFixture.Transport.TCP, directory, state.resolve("key"), readOnly);
        root = fixture.root();
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    @Test
    void attributesAreThoseOfTheFileWithNanoseconds() throws IOException {
        Path file = Files.writeString(directory.resolve("f"), "hello");
        Nfs3Client.Found found = fixture.nfs().lookup(root, "f");
        NfsAttributes attributes = fixture.nfs().attributes(found.handle(), "f");
        assertThat(attributes).isEqualTo(found.attributes());
        assertThat(attributes.type()).isEqualTo(NfsAttributes.Type.FILE);
        assertThat(attributes.size()).isEqualTo(5);
        assertThat(attributes.links()).isEqualTo(1);
        assertThat(attributes.modified()).isEqualTo(Files.getLastModifiedTime(file).toInstant());
        assertThat(attributes.fileId()).isEqualTo((long) Files.getAttribute(file, "unix:ino"));
    }

    @Test
    void setattrChangesModeSizeAndTimes() throws IOException {
        Path file = Files.writeString(directory.resolve("f"), "hello");
        NfsHandle handle = fixture.nfs().lookup(root, "f").handle();
        ByteBuf arguments = handle(handle);
        arguments.writeInt(1).writeInt(04751).writeInt(0).writeInt(0).writeInt(1).writeLong(70000);
        arguments
                .writeInt(2)
                .writeInt(1000)
                .writeInt(7)
                .writeInt(2)
                .writeInt(2000)
                .writeInt(123456789);
        assertThat(status(SETATTR, arguments.writeInt(0))).isZero();
        assertThat(Files.size(file)).isEqualTo(70000);
        assertThat((int) Files.getAttribute(file, "unix:mode") & 07777).isEqualTo(04751);
        assertThat(Files.getLastModifiedTime(file).toInstant())
                .isEqualTo(Instant.ofEpochSecond(2000, 123456789));
        fixture.nfs().truncate(handle, "f", 3);
        assertThat(Files.readString(file)).isEqualTo("hel");
    }

    @Test
    void setattrWithAnOldGuardChangesNothing() throws IOException {
        Path file = Files.writeString(directory.resolve("f"), "hello");
        NfsHandle handle = fixture.nfs().lookup(root, "f").handle();
        NfsAttributes before = fixture.nfs().attributes(handle, "f");
        assertThat(status(SETATTR, guarded(handle, before.changed().minusNanos(1))))
                .isEqualTo(Nfs3Status.NFS3ERR_NOT_SYNC);
        assertThat(Files.size(file)).isEqualTo(5);
        assertThat(status(SETATTR, guarded(handle, before.changed()))).isZero();
        assertThat(Files.size(file)).isZero();
    }

    @Test
    void lookupFindsNamesSelfAndParentAndNothingElse() throws IOException {
        Files.createDirectory(directory.resolve("d"));
        NfsHandle d = fixture.nfs().lookup(root, "d").handle();
        assertThat(fixture.nfs().lookup(d, ".").handle()).isEqualTo(d);
        assertThat(fixture.nfs().lookup(d, "..").handle()).isEqualTo(root);
        assertThat(fixture.nfs().lookup(root, "..").handle()).isEqualTo(root);
        assertThat(status(LOOKUP, handleAndName(root, "x"))).isEqualTo(Nfs3Status.NFS3ERR_NOENT);
        assertThat(status(LOOKUP, handleAndName(root, ""))).isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        assertThat(status(LOOKUP, handleAndName(root, "d/.."))).isEqualTo(Nfs3Status.NFS3ERR_ACCES);
        assertThat(status(LOOKUP, handleAndName(root, "../" + directory.getFileName())))
                .isEqualTo(Nfs3Status.NFS3ERR_ACCES);
        assertThat(status(LOOKUP, handleAndName(root, "/etc/passwd")))
                .isEqualTo(Nfs3Status.NFS3ERR_ACCES);
        assertThat(status(LOOKUP, handleAndName(root, "a\0b"))).isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        ByteBuf latin1 = handle(root);
        Xdr.writeOpaque(latin1, new byte[] {'g', 'r', (byte) 0xfc, 'n'});
        assertThat(status(LOOKUP, latin1)).isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        assertThat(status(LOOKUP, handleAndName(root, "n".repeat(256))))
                .isEqualTo(Nfs3Status.NFS3ERR_NAMETOOLONG);
    }

    @Test
    void symbolicLinksAreReadAndNeverFollowed() throws IOException {
        Path outside = Files.writeString(state.resolve("secret"), "secret");
        Files.createSymbolicLink(directory.resolve("file"), outside);
        Files.createSymbolicLink(directory.resolve("dir"), state);
        Nfs3Client.Found file = fixture.nfs().lookup(root, "file");
        Nfs3Client.Found dir = fixture.nfs().lookup(root, "dir");
        assertThat(file.attributes().type()).isEqualTo(NfsAttributes.Type.SYMBOLIC_LINK);
        assertThat(fixture.nfs().readLink(file.handle(), "file")).isEqualTo(outside.toString());
        assertThat(status(LOOKUP, handleAndName(dir.handle(), "secret")))
                .isEqualTo(Nfs3Status.NFS3ERR_NOTDIR);
        assertThat(status(READ, handle(file.handle()).writeLong(0).writeInt(10)))
                .isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        ByteBuf write = handle(file.handle()).writeLong(0).writeInt(4).writeInt(2).writeInt(4);
        assertThat(status(WRITE, write.writeInt(0))).isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        assertThat(status(CREATE, create(root, "file", 0))).isEqualTo(Nfs3Status.NFS3ERR_EXIST);
        ByteBuf truncate =
                handle(file.handle()).writeInt(0).writeInt(0).writeInt(0).writeInt(1).writeLong(0);
        assertThat(status(SETATTR, truncate.writeInt(0).writeInt(0).writeInt(0)))
                .isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        assertThat(outside).hasContent("secret");
    }

    @Test
    void aDirectoryReplacedByALinkLeadsNowhere() throws IOException {
        Path d = Files.createDirectory(directory.resolve("d"));
        Files.writeString(d.resolve("f"), "inside");
        NfsHandle handle = fixture.nfs().lookup(root, "d").handle();
        NfsHandle file = fixture.nfs().lookup(handle, "f").handle();
        Files.writeString(state.resolve("f"), "outside");
        Files.move(d, directory.resolve("moved"));
        Files.createSymbolicLink(d, state);
        awaitFound(file);
        assertThat(read(file)).isEqualTo("inside");
        assertThat(fixture.nfs().lookup(handle, "f").handle()).isEqualTo(file);
        assertThat(status(LOOKUP, handleAndName(fixture.nfs().lookup(root, "d").handle(), "f")))
                .isEqualTo(Nfs3Status.NFS3ERR_NOTDIR);
    }

    @Test
    void accessAnswersForTheCaller() throws IOException {
        Files.writeString(directory.resolve("f"), "");
        Files.setAttribute(directory.resolve("f"), "unix:mode", 0640);
        NfsHandle file = fixture.nfs().lookup(root, "f").handle();
        ByteBuf results = results(ACCESS, handle(file).writeInt(0x3f));
        try {
            assertThat(results.readInt()).isZero();
            assertThat(results.readInt()).isEqualTo(1);
            results.skipBytes(84);
            assertThat(results.readInt()).isEqualTo(1 | 4 | 8);
        } finally {
            results.release();
        }
    }

    @Test
    void writeIsReadAndCommittedUnderOneVerifier() throws IOException {
        NfsHandle file = fixture.nfs().create(root, "f", 0600).handle();
        ByteBuf data = Unpooled.directBuffer().writeBytes(new byte[] {'a', 'b', 'c'});
        Nfs3Client.WriteResult written =
                fixture.nfs().await(fixture.nfs().write(file, "f", 2, data));
        assertThat(written.count()).isEqualTo(3);
        assertThat(fixture.nfs().commit(file, "f")).isEqualTo(written.verifier());
        assertThat(read(file)).isEqualTo("\0\0abc");
        assertThat(status(COMMIT, handle(root).writeLong(0).writeInt(0)))
                .isEqualTo(Nfs3Status.NFS3ERR_ISDIR);
    }

    /** Offsets and sizes are unsigned in NFS and signed in the system. */
    @Test
    void whatEndsBehindTheLargestFileIsTooBig() throws IOException {
        Path file = Files.writeString(directory.resolve("f"), "hello");
        NfsHandle handle = fixture.nfs().lookup(root, "f").handle();
        for (long offset : new long[] {Long.MAX_VALUE - 3, Long.MAX_VALUE, Long.MIN_VALUE, -1}) {
            ByteBuf write = handle(handle).writeLong(offset).writeInt(4).writeInt(0).writeInt(4);
            assertThat(status(WRITE, write.writeInt(0)))
                    .as(Long.toHexString(offset))
                    .isEqualTo(Nfs3Status.NFS3ERR_FBIG);
        }
        ByteBuf size = handle(handle).writeInt(0).writeInt(0).writeInt(0).writeInt(1).writeLong(-1);
        assertThat(status(SETATTR, size.writeZero(3 * 4))).isEqualTo(Nfs3Status.NFS3ERR_FBIG);
        assertThat(file).hasContent("hello");
    }

    @Test
    void readBehindTheEndSaysSo() throws IOException {
        Files.writeString(directory.resolve("f"), "hello");
        NfsHandle file = fixture.nfs().lookup(root, "f").handle();
        Nfs3Client.ReadResult result = fixture.nfs().await(fixture.nfs().read(file, "f", 9, 100));
        assertThat(result.data().readableBytes()).isZero();
        assertThat(result.endOfFile()).isTrue();
        result.data().release();
        assertThat(status(READ, handle(root).writeLong(0).writeInt(1)))
                .isEqualTo(Nfs3Status.NFS3ERR_ISDIR);
    }

    /** No file is so long (RFC 1813, 3.3.6); what is to be committed is all of it, wherever it is. */
    @Test
    void noOffsetIsTooLargeToReadOrCommit() throws IOException {
        Files.writeString(directory.resolve("f"), "hello");
        NfsHandle file = fixture.nfs().lookup(root, "f").handle();
        for (long offset : new long[] {Long.MAX_VALUE - 3, Long.MAX_VALUE, Long.MIN_VALUE, -1}) {
            ByteBuf read = results(READ, handle(file).writeLong(offset).writeInt(-1));
            assertThat(read.readInt()).as(Long.toHexString(offset)).isZero();
            assertThat(read.skipBytes(4 + 84).readInt()).isZero();
            assertThat(read.readInt()).as("is the end").isEqualTo(1);
            read.release();
            assertThat(status(COMMIT, handle(file).writeLong(offset).writeInt(-1))).isZero();
        }
    }

    @Test
    void guardedAndExclusiveCreateDoNotTakeWhatIsThere() throws IOException {
        assertThat(status(CREATE, create(root, "g", 1))).isZero();
        assertThat(status(CREATE, create(root, "g", 1))).isEqualTo(Nfs3Status.NFS3ERR_EXIST);
        assertThat(status(CREATE, exclusive("e", 0x123456789abcdef0L))).isZero();
        // The same call again, because its reply was lost.
        assertThat(status(CREATE, exclusive("e", 0x123456789abcdef0L))).isZero();
        assertThat(status(CREATE, exclusive("e", 0x123456789abcdef1L)))
                .isEqualTo(Nfs3Status.NFS3ERR_EXIST);
        assertThat(status(CREATE, exclusive("g", 1))).isEqualTo(Nfs3Status.NFS3ERR_EXIST);
    }

    /** Nobody else opens it before it has the mode that its maker wants: who wants none sees what it had. */
    @Test
    void whatIsMadeIsForTheServersUserAloneUntilItHasItsMode() throws IOException {
        assertThat(status(CREATE, create(root, "f", 0))).isZero();
        assertThat(mode("f")).isEqualTo(0600);
        assertThat(status(MKDIR, handleAndName(root, "d").writeZero(6 * 4))).isZero();
        assertThat(mode("d")).isEqualTo(0700);
        fixture.nfs().create(root, "shared", 0664);
        assertThat(mode("shared")).isEqualTo(0664);
    }

    @Test
    void whatCannotHaveItsAttributesGoesAgain() throws IOException {
        ByteBuf create = handleAndName(root, "f").writeInt(0).writeZero(3 * 4).writeInt(1);
        assertThat(status(CREATE, create.writeLong(-1).writeZero(2 * 4)))
                .isEqualTo(Nfs3Status.NFS3ERR_FBIG);
        ByteBuf mkdir = handleAndName(root, "d").writeZero(3 * 4).writeInt(1).writeLong(0);
        assertThat(status(MKDIR, mkdir.writeZero(2 * 4))).isEqualTo(Nfs3Status.NFS3ERR_ISDIR);
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void directoriesAreMadeAndRemoved() throws IOException {
        ByteBuf mkdir = handleAndName(root, "d").writeInt(1).writeInt(0751);
        assertThat(status(MKDIR, mkdir.writeZero(5 * 4))).isZero();
        assertThat(mode("d")).isEqualTo(0751);
        assertThat(status(MKDIR, handleAndName(root, "d").writeZero(6 * 4)))
                .isEqualTo(Nfs3Status.NFS3ERR_EXIST);
        assertThat(status(REMOVE, handleAndName(root, "d"))).isEqualTo(Nfs3Status.NFS3ERR_ISDIR);
        Files.writeString(directory.resolve("d/f"), "");
        assertThat(status(RMDIR, handleAndName(root, "d"))).isEqualTo(Nfs3Status.NFS3ERR_NOTEMPTY);
        Files.delete(directory.resolve("d/f"));
        NfsHandle d = fixture.nfs().lookup(root, "d").handle();
        assertThat(status(RMDIR, handleAndName(root, "d"))).isZero();
        assertThat(status(LOOKUP, handleAndName(d, "f"))).isEqualTo(Nfs3Status.NFS3ERR_STALE);
        assertThat(status(RMDIR, handleAndName(root, "d"))).isEqualTo(Nfs3Status.NFS3ERR_NOENT);
    }

    @Test
    void linksAreMadeAndRemoved() throws IOException {
        Path file = Files.writeString(directory.resolve("f"), "hello");
        NfsHandle handle = fixture.nfs().lookup(root, "f").handle();
        ByteBuf results = results(LINK, handle(handle, root, "hard"));
        assertThat(results.readInt()).isZero();
        // post_op_attr of the file, then wcc_data of the directory.
        assertThat(results.readInt()).isEqualTo(1);
        assertThat(results.getInt(results.readerIndex() + 8)).isEqualTo(2);
        results.skipBytes(84);
        assertThat(results.readableBytes()).isEqualTo(4 + 24 + 4 + 84);
        results.release();
        assertThat(Files.isSameFile(file, directory.resolve("hard"))).isTrue();
        assertThat(fixture.nfs().lookup(root, "hard").handle()).isEqualTo(handle);
        assertThat(status(LINK, handle(handle, root, "hard"))).isEqualTo(Nfs3Status.NFS3ERR_EXIST);
        assertThat(status(LINK, handle(root, root, "dir"))).isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        assertThat(status(REMOVE, handleAndName(root, "f"))).isZero();
        assertThat(read(handle)).isEqualTo("hello");

        ByteBuf symlink = handleAndName(root, "soft").writeZero(6 * 4);
        Xdr.writeString(symlink, "some/where");
        assertThat(status(SYMLINK, symlink)).isZero();
        assertThat(Files.readSymbolicLink(directory.resolve("soft"))).hasToString("some/where");
        assertThat(status(REMOVE, handleAndName(root, "soft"))).isZero();
        assertThat(Files.exists(directory.resolve("soft"), LinkOption.NOFOLLOW_LINKS)).isFalse();
    }

    @Test
    void renameKeepsHandlesAndReplacesTheTarget() throws IOException {
        Files.writeString(directory.resolve("a"), "a");
        Files.writeString(directory.resolve("b"), "b");
        Files.createDirectories(directory.resolve("d/sub"));
        Files.writeString(directory.resolve("d/sub/f"), "below");
        NfsHandle a = fixture.nfs().lookup(root, "a").handle();
        NfsHandle b = fixture.nfs().lookup(root, "b").handle();
        NfsHandle sub = fixture.session().find("/d/sub").handle();
        NfsHandle below = fixture.nfs().lookup(sub, "f").handle();
        assertThat(status(RENAME, rename(root, "a", root, "b"))).isZero();
        assertThat(read(a)).isEqualTo("a");
        assertThat(status(READ, handle(b).writeLong(0).writeInt(1)))
                .isEqualTo(Nfs3Status.NFS3ERR_STALE);
        assertThat(status(RENAME, rename(root, "d", root, "e"))).isZero();
        assertThat(read(below)).isEqualTo("below");
        assertThat(fixture.nfs().lookup(sub, "f").handle()).isEqualTo(below);
        assertThat(status(RENAME, rename(root, "e", sub, "x"))).isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        assertThat(status(RENAME, rename(root, "b", root, "e"))).isNotZero();
        assertThat(status(RENAME, rename(root, "x", root, "y")))
                .isEqualTo(Nfs3Status.NFS3ERR_NOENT);
        assertThat(status(RENAME, rename(root, "b", root, "../b")))
                .isEqualTo(Nfs3Status.NFS3ERR_ACCES);
        assertThat(read(a)).isEqualTo("a");
    }

    @Test
    void renameOfTwoNamesOfOneFileLeavesBoth() throws IOException {
        Files.writeString(directory.resolve("a"), "a");
        Files.createLink(directory.resolve("b"), directory.resolve("a"));
        NfsHandle a = fixture.nfs().lookup(root, "a").handle();
        assertThat(status(RENAME, rename(root, "a", root, "b"))).isZero();
        assertThat(status(REMOVE, handleAndName(root, "b"))).isZero();
        assertThat(read(a)).isEqualTo("a");
    }

    @Test
    void changesReportTheDirectoryBeforeAndAfter() throws IOException {
        NfsAttributes before = fixture.nfs().attributes(root, "/");
        ByteBuf results = results(MKDIR, handleAndName(root, "d").writeZero(6 * 4));
        assertThat(results.readInt()).isZero();
        results.skipBytes(4 + 4 + 32 + 4 + 84);
        assertThat(results.readInt()).isEqualTo(1);
        assertThat(results.readLong()).isEqualTo(before.size());
        assertThat(Instant.ofEpochSecond(results.readUnsignedInt(), results.readUnsignedInt()))
                .isEqualTo(before.modified());
        results.skipBytes(8);
        assertThat(results.readInt()).isEqualTo(1);
        assertThat(results.getInt(results.readerIndex() + 8)).isEqualTo(3);
        assertThat(results.readableBytes()).isEqualTo(84);
        results.release();
    }

    @Test
    void aBigDirectoryIsReadInPagesWhileItChanges() throws IOException {
        Set<String> stay = new HashSet<>();
        for (int i = 0; i < 1000; i++) {
            String name = "n".repeat(100) + i;
            Files.createFile(directory.resolve(name));
            stay.add(name);
        }
        for (int procedure : new int[] {READDIR, READDIRPLUS}) {
            List<String> seen = new ArrayList<>();
            long cookie = 0;
            boolean last = false;
            for (int page = 0; !last; page++) {
                ByteBuf arguments = handle(root).writeLong(cookie).writeLong(0).writeInt(4096);
                ByteBuf results =
                        results(
                                procedure,
                                procedure == READDIR ? arguments : arguments.writeInt(4096));
                assertThat(results.readableBytes()).isLessThanOrEqualTo(4096);
                assertThat(results.readInt()).isZero();
                results.skipBytes(4 + 84 + 8);
                while (results.readInt() != 0) {
                    results.skipBytes(8);
                    seen.add(Xdr.readString(results, 255));
                    cookie = results.readLong();
                    if (procedure == READDIRPLUS) {
                        results.skipBytes(4 + 84 + 4 + 4 + 32);
                    }
                }
                last = results.readInt() != 0;
                results.release();
                Files.createFile(directory.resolve("new" + procedure + "-" + page));
                Files.deleteIfExists(directory.resolve("new" + procedure + "-" + (page - 3)));
            }
            assertThat(seen).contains(".", "..").doesNotHaveDuplicates();
            assertThat(new HashSet<>(seen)).containsAll(stay);
        }
        assertThat(status(READDIR, handle(root).writeLong(0).writeLong(0).writeInt(64)))
                .isEqualTo(Nfs3Status.NFS3ERR_TOOSMALL);
    }

    /** From one that it has not given the server would begin again, or leave out what is between. */
    @Test
    void noCookieIsNegative() throws IOException {
        for (long cookie : new long[] {Long.MIN_VALUE, -1}) {
            ByteBuf plus = handle(root).writeLong(cookie).writeLong(0).writeInt(4096);
            assertThat(status(READDIR, plus.copy())).isEqualTo(Nfs3Status.NFS3ERR_BAD_COOKIE);
            assertThat(status(READDIRPLUS, plus.writeInt(4096)))
                    .isEqualTo(Nfs3Status.NFS3ERR_BAD_COOKIE);
        }
        ByteBuf last = handle(root).writeLong(Long.MAX_VALUE).writeLong(0).writeInt(4096);
        ByteBuf end = results(READDIR, last);
        assertThat(end.readInt()).isZero();
        assertThat(end.skipBytes(4 + 84 + 8).readLong()).as("no entry, and the end").isEqualTo(1);
        end.release();
    }

    @Test
    void theClientListsWhatThereIs() throws IOException {
        Files.writeString(directory.resolve("grüße"), "x");
        Files.createDirectory(directory.resolve("d"));
        List<Nfs3Client.Entry> entries = new ArrayList<>();
        fixture.nfs().list(root, "/", entries::add);
        assertThat(entries)
                .extracting(Nfs3Client.Entry::name)
                .containsExactlyInAnyOrder("grüße", "d");
        assertThatThrownBy(
                        () ->
                                fixture.nfs()
                                        .list(
                                                fixture.nfs().lookup(root, "grüße").handle(),
                                                "grüße",
                                                entries::add))
                .isInstanceOf(NfsStatusException.class)
                .hasMessage("grüße: not a directory");
    }

    @Test
    void fileSystemIsDescribed() throws IOException {
        assertThat(fixture.nfs().limits(root)).isEqualTo(new Nfs3Client.Limits(1 << 20, 1 << 20));
        ByteBuf results = results(FSSTAT, handle(root));
        assertThat(results.readInt()).isZero();
        results.skipBytes(4 + 84);
        assertThat(results.readLong()).isEqualTo(Files.getFileStore(directory).getTotalSpace());
        results.release();
        assertThat(status(FSINFO, handle(root))).isZero();
        assertThat(status(PATHCONF, handle(root))).isZero();
    }

    @Test
    void fsstatIsOfTheExportWhereverALinkLeads() throws IOException {
        Files.createSymbolicLink(directory.resolve("l"), state.resolve("nowhere"));
        NfsHandle link = fixture.nfs().lookup(root, "l").handle();
        assertThat(status(FSSTAT, handle(link))).isZero();
    }

    @Test
    void aWayOfCreationThatThereIsNotIsGarbage() {
        assertThatThrownBy(() -> status(CREATE, create(root, "f", 3)))
                .hasMessage("the server could not read the arguments (GARBAGE_ARGS)");
    }

    /** Of bytes that are not UTF-8 Java would make others. */
    @Test
    void aLinkThatIsNotUtf8IsNotMangled() throws IOException {
        ByteBuf symlink = handleAndName(root, "l").writeZero(6 * 4);
        Xdr.writeOpaque(symlink, new byte[] {'g', 'r', (byte) 0xfc, 'n'});
        assertThat(status(SYMLINK, symlink)).isEqualTo(Nfs3Status.NFS3ERR_INVAL);
        assertThat(Files.exists(directory.resolve("l"), LinkOption.NOFOLLOW_LINKS)).isFalse();
        Process ln =
                new ProcessBuilder("sh", "-c", "ln -s \"$(printf 'gr\\374n')\" l")
                        .directory(directory.toFile())
                        .start();
        assertThat(ln.onExit().join().exitValue()).isZero();
        ByteBuf link = handle(fixture.nfs().lookup(root, "l").handle());
        assertThat(status(READLINK, link)).isEqualTo(Nfs3Status.NFS3ERR_INVAL);
    }

    @Test
    void specialFilesAreNotMade() throws IOException {
        assertThat(status(MKNOD, handleAndName(root, "p").writeInt(7).writeZero(6 * 4)))
                .isEqualTo(Nfs3Status.NFS3ERR_NOTSUPP);
    }

    @Test
    void aReadOnlyExportChangesNothing() throws IOException {
        Path file = Files.writeString(directory.resolve("f"), "hello");
        fixture.close();
        open(true);
        NfsHandle handle = fixture.nfs().lookup(root, "f").handle();
        ByteBuf write = handle(handle).writeLong(0).writeInt(0).writeInt(2).writeInt(0);
        assertThat(status(WRITE, write)).isEqualTo(Nfs3Status.NFS3ERR_ROFS);
        assertThat(status(SETATTR, handle(handle).writeZero(7 * 4)))
                .isEqualTo(Nfs3Status.NFS3ERR_ROFS);
        assertThat(status(CREATE, create(root, "g", 0))).isEqualTo(Nfs3Status.NFS3ERR_ROFS);
        assertThat(status(MKDIR, handleAndName(root, "g").writeZero(6 * 4)))
                .isEqualTo(Nfs3Status.NFS3ERR_ROFS);
        assertThat(status(REMOVE, handleAndName(root, "f"))).isEqualTo(Nfs3Status.NFS3ERR_ROFS);
        assertThat(status(RMDIR, handleAndName(root, "f"))).isEqualTo(Nfs3Status.NFS3ERR_ROFS);
        assertThat(status(RENAME, rename(root, "f", root, "g"))).isEqualTo(Nfs3Status.NFS3ERR_ROFS);
        assertThat(status(LINK, handle(handle, root, "g"))).isEqualTo(Nfs3Status.NFS3ERR_ROFS);
        assertThat(read(handle)).isEqualTo("hello");
        assertThat(file).hasContent("hello");
    }

    @Test
    void handlesSurviveARestart() throws IOException {
        Files.createDirectories(directory.resolve("d/sub"));
        Files.writeString(directory.resolve("d/sub/f"), "hello");
        NfsHandle sub = fixture.session().find("/d/sub").handle();
        NfsHandle file = fixture.nfs().lookup(sub, "f").handle();
        fixture.close();
        // Renamed while nobody looked.
        Files.move(directory.resolve("d"), directory.resolve("e"));
        open(false);
        awaitFound(file);
        assertThat(read(file)).isEqualTo("hello");
        assertThat(fixture.nfs().lookup(sub, "f").handle()).isEqualTo(file);
        assertThat(fixture.session().find("/e/sub/f").handle()).isEqualTo(file);
    }

    @Test
    void aFileThatIsGoneIsStaleEvenIfItsInodeIsUsedAgain() throws IOException {
        NfsHandle first = fixture.nfs().create(root, "f", 0600).handle();
        assertThat(status(REMOVE, handleAndName(root, "f"))).isZero();
        for (int i = 0; i < 20; i++) {
            fixture.nfs().create(root, "again" + i, 0600);
        }
        assertThat(status(READ, handle(first).writeLong(0).writeInt(1)))
                .isEqualTo(Nfs3Status.NFS3ERR_STALE);
    }

    @Test
    void handlesOfOthersAreRefused() throws IOException {
        byte[] forged = new byte[32];
        assertThat(status(READ, handle(new NfsHandle(forged)).writeLong(0).writeInt(1)))
                .isEqualTo(Nfs3Status.NFS3ERR_BADHANDLE);
        assertThat(status(READ, handle(new NfsHandle(new byte[28])).writeLong(0).writeInt(1)))
                .isEqualTo(Nfs3Status.NFS3ERR_BADHANDLE);
    }

    @Test
    void argumentsWithImpossibleLengthsAreGarbage() {
        assertThatThrownBy(() -> status(READ, Unpooled.buffer().writeInt(Integer.MAX_VALUE)))
                .isInstanceOf(RpcStatusException.class)
                .hasMessage("the server could not read the arguments (GARBAGE_ARGS)");
        assertThatThrownBy(() -> status(LOOKUP, handle(root).writeInt(-1)))
                .isInstanceOf(RpcStatusException.class)
                .hasMessage("the server could not read the arguments (GARBAGE_ARGS)");
        ByteBuf write = handle(root).writeLong(0).writeInt(1 << 30).writeInt(0).writeInt(1 << 30);
        assertThatThrownBy(() -> status(WRITE, write)).isInstanceOf(RpcStatusException.class);
        assertThatThrownBy(() -> status(22, Unpooled.EMPTY_BUFFER))
                .hasMessage(
                        "the server has no such procedure in program 100003 version 3"
                                + " (PROC_UNAVAIL)");
    }

    @Test
    void mountGivesExportsAndDirectoriesBelow() throws IOException {
        Files.createDirectory(directory.resolve("d"));
        Files.writeString(directory.resolve("f"), "");
        Files.createSymbolicLink(directory.resolve("l"), Path.of("d"));
        try (RpcConnection rpc = RpcConnection.tcp(fixture.mountAddress())) {
            MountClient mount = new MountClient(rpc, NfsFixture.ROOT);
            assertThat(mount.mount("/")).isEqualTo(root);
            assertThat(mount.mount("/d/")).isEqualTo(fixture.nfs().lookup(root, "d").handle());
            assertThatThrownBy(() -> mount.mount("/x")).hasMessage("/x: no such file or directory");
            assertThatThrownBy(() -> mount.mount("/f")).hasMessage("/f: not a directory");
            assertThatThrownBy(() -> mount.mount("/l")).hasMessage("/l: not a directory");
            assertThatThrownBy(() -> mount.mount("/../etc"))
                    .hasMessage("/../etc: invalid argument");
            StringBuilder longPath = new StringBuilder();
            for (int i = 0; i < 5; i++) {
                longPath.append('/').append("n".repeat(250));
            }
            Path deepest = Path.of(directory + longPath.toString());
            Files.createDirectories(deepest);
            assertThat(fixture.session().find(longPath.toString()).attributes().fileId())
                    .isEqualTo((long) Files.getAttribute(deepest, "unix:ino"));
            mount.unmount("/");
            assertThat(mountResults(rpc, 4)).isEmpty();
            assertThat(mountResults(rpc, 2)).containsExactly(0, 0, 0, 0);
            assertThat(mountResults(rpc, 5))
                    .containsExactly(0, 0, 0, 1, 0, 0, 0, 1, '/', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
            assertThat(mountResults(rpc, 0)).isEmpty();
            assertThatThrownBy(() -> mountResults(rpc, 99)).isInstanceOf(RpcStatusException.class);
        }
    }

    // ---- calls

    private static byte[] mountResults(RpcConnection rpc, int procedure) throws IOException {
        return Calls.await(
                rpc.client(100005, 3, Duration.ofSeconds(10))
                        .withCredentials(() -> NfsFixture.ROOT)
                        .call(procedure),
                results -> {
                    byte[] bytes = new byte[results.readableBytes()];
                    results.readBytes(bytes);
                    return bytes;
                });
    }

    private int mode(String name) throws IOException {
        return (int) Files.getAttribute(directory.resolve(name), "unix:mode") & 07777;
    }

    private String read(NfsHandle file) throws IOException {
        Nfs3Client.ReadResult result =
                fixture.nfs().await(fixture.nfs().read(file, "file", 0, 100));
        try {
            return result.data().toString(java.nio.charset.StandardCharsets.UTF_8);
        } finally {
            result.data().release();
        }
    }

    private ByteBuf results(int procedure, ByteBuf arguments) throws IOException {
        return Calls.await(fixture.nfs().call(procedure, arguments), ByteBuf::retain);
    }

    /** Asks again as long as the server is busy. */
    private int status(int procedure, ByteBuf arguments) throws IOException {
        int status;
        do {
            ByteBuf again = arguments.copy();
            status = Calls.await(fixture.nfs().call(procedure, again), ByteBuf::readInt);
        } while (status == Nfs3Status.NFS3ERR_JUKEBOX);
        return status;
    }

    /** Asks again as long as the server is busy with looking for the file. */
    private void awaitFound(NfsHandle file) throws IOException {
        assertThat(status(1, handle(file))).isZero();
    }

    private static ByteBuf handle(NfsHandle file) {
        ByteBuf arguments = Unpooled.buffer();
        file.writeTo(new XdrWriter(arguments));
        return arguments;
    }

    private static ByteBuf handle(NfsHandle file, NfsHandle directory, String name) {
        ByteBuf arguments = handle(file);
        directory.writeTo(new XdrWriter(arguments));
        Xdr.writeString(arguments, name);
        return arguments;
    }

    private static ByteBuf handleAndName(NfsHandle directory, String name) {
        ByteBuf arguments = handle(directory);
        Xdr.writeString(arguments, name);
        return arguments;
    }

    private static ByteBuf rename(NfsHandle from, String name, NfsHandle to, String newName) {
        ByteBuf arguments = handleAndName(from, name);
        to.writeTo(new XdrWriter(arguments));
        Xdr.writeString(arguments, newName);
        return arguments;
    }

    private static ByteBuf create(NfsHandle directory, String name, int how) {
        return handleAndName(directory, name).writeInt(how).writeZero(6 * 4);
    }

    private ByteBuf exclusive(String name, long verifier) {
        return handleAndName(root, name).writeInt(2).writeLong(verifier);
    }

    private static ByteBuf guarded(NfsHandle file, Instant changed) {
        ByteBuf arguments =
                handle(file).writeInt(0).writeInt(0).writeInt(0).writeInt(1).writeLong(0);
        arguments.writeInt(0).writeInt(0).writeInt(1);
        return arguments.writeInt((int) changed.getEpochSecond()).writeInt(changed.getNano());
    }
}
