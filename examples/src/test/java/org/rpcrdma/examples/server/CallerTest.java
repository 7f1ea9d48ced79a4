// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.NfsFixture;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileLocks;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** What a server of root lets others do: what the modes of files let them. */
class CallerTest {

    private static final int USER = 1000;
    private static final int OTHER = 2000;
    private static final int NOTHING = -1;

    /** {@code time_how}. */
    private static final int SERVER_TIME = 1;

    private static final int CLIENT_TIME = 2;

    @TempDir private Path directory;
    @TempDir private Path state;

    private Export export;
    private Nfs3Service service;

    @BeforeEach
    void serve() throws IOException {
        assumeThat((int) Files.getAttribute(directory, "unix:uid")).as("only root has").isZero();
        export = new Export(directory, false, state.resolve("key"));
        service = Nfs3Service.of(export, new FileLocks(), Caller.Policy.ROOT_TRUSTED, 0);
        mode(directory, 0755);
    }

    @AfterEach
    void close() {
        if (export != null) {
            export.close();
        }
    }

    private static Caller user(int uid) {
        return Caller.of(uid, uid, List.of(), Caller.Policy.ROOT_TRUSTED);
    }

    private static void mode(Path file, int mode) throws IOException {
        Files.setAttribute(file, "unix:mode", mode);
    }

    private static int mode(Path file) throws IOException {
        return (int) Files.getAttribute(file, "unix:mode") & 07777;
    }

    private Path file(String name, int uid, int mode) throws IOException {
        Path file = Files.writeString(directory.resolve(name), "text");
        Files.setAttribute(file, "unix:uid", uid);
        Files.setAttribute(file, "unix:gid", uid);
        mode(file, mode);
        return file;
    }

    private NfsHandle handle(String path) throws IOException {
        try (Located file = export.locate(path)) {
            return export.handle(file);
        }
    }

    private static Nfs3Call call(Caller caller, XdrWriter arguments) {
        return new Nfs3Call(arguments.buffer(), caller, UnpooledByteBufAllocator.DEFAULT);
    }

    private XdrWriter on(String path) throws IOException {
        XdrWriter arguments = new XdrWriter(Unpooled.buffer());
        arguments.write(handle(path));
        return arguments;
    }

    private XdrWriter name(String directoryPath, String name) throws IOException {
        XdrWriter arguments = on(directoryPath);
        arguments.writeString(name);
        return arguments;
    }

    private static XdrWriter attributes(
            XdrWriter arguments, int mode, int uid, int gid, long size) {
        for (int value : new int[] {mode, uid, gid}) {
            arguments.writeBoolean(value != NOTHING);
            if (value != NOTHING) {
                arguments.writeInt(value);
            }
        }
        arguments.writeBoolean(size != NOTHING);
        if (size != NOTHING) {
            arguments.writeLong(size);
        }
        arguments.writeInt(0);
        arguments.writeInt(0);
        return arguments;
    }

    private void set(Caller caller, String path, int mode, int uid, int gid, long size)
            throws IOException {
        XdrWriter arguments = attributes(on(path), mode, uid, gid, size);
        arguments.writeInt(0);
        service.attributes().setattr(call(caller, arguments));
    }

    /** With a size of 0. */
    private void touch(Caller caller, String path, int how) throws IOException {
        XdrWriter arguments = on(path);
        for (int word : new int[] {0, 0, 0, 1, 0, 0, 0, how}) {
            arguments.writeInt(word);
        }
        if (how == CLIENT_TIME) {
            arguments.writeInt(7);
            arguments.writeInt(0);
        }
        arguments.writeBoolean(false);
        service.attributes().setattr(call(caller, arguments));
    }

    private void create(Caller caller, String name, int mode, int uid) throws IOException {
        XdrWriter arguments = name("/", name);
        arguments.writeInt(0);
        attributes(arguments, mode, uid, NOTHING, NOTHING);
        service.creation().create(call(caller, arguments));
    }

    private void mkdir(Caller caller, String name, int mode) throws IOException {
        XdrWriter arguments = attributes(name("/", name), mode, NOTHING, NOTHING, NOTHING);
        service.creation().mkdir(call(caller, arguments));
    }

    private void read(Caller caller, String path) throws IOException {
        XdrWriter arguments = on(path);
        arguments.writeLong(0);
        arguments.writeInt(10);
        try (Nfs3Call call = call(caller, arguments)) {
            service.data().read(call);
        }
    }

    private void write(Caller caller, String path) throws IOException {
        XdrWriter arguments = on(path);
        arguments.writeLong(0);
        for (int word : new int[] {4, 0, 4, 0}) {
            arguments.writeInt(word);
        }
        service.data().write(call(caller, arguments));
    }

    private void remove(Caller caller, String name) throws IOException {
        service.names().remove(call(caller, name("/", name)));
    }

    private static void refused(int status, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        NfsException.class, e -> assertThat(e.status()).isEqualTo(status));
    }

    @Test
    void dataAreForThoseWhomTheModeLets() throws IOException {
        file("secret", 0, 0600);
        Caller user = user(USER);
        refused(Nfs3Status.NFS3ERR_ACCES, () -> read(user, "secret"));
        refused(Nfs3Status.NFS3ERR_ACCES, () -> write(user, "secret"));
        refused(Nfs3Status.NFS3ERR_ACCES, () -> set(user, "secret", NOTHING, NOTHING, NOTHING, 0));
        read(user(0), "secret");
        file("readable", OTHER, 0644);
        read(user, "readable");
        refused(Nfs3Status.NFS3ERR_ACCES, () -> write(user, "readable"));
        file("program", OTHER, 0711);
        read(user, "program");
        // A program of the owner may have opened it before.
        file("own", USER, 0);
        read(user, "own");
        write(user, "own");
        file("group", OTHER, 0660);
        write(Caller.of(USER, USER, List.of(OTHER), Caller.Policy.ROOT_TRUSTED), "group");
    }

    @Test
    void attributesAreTheOwners() throws IOException {
        Path file = file("f", 0, 0666);
        refused(
                Nfs3Status.NFS3ERR_PERM,
                () -> set(user(USER), "f", 04777, NOTHING, NOTHING, NOTHING));
        assertThat(mode(file)).isEqualTo(0666);
        file("own", USER, 0644);
        Caller user = user(USER);
        set(user, "own", 0755, NOTHING, NOTHING, NOTHING);
        refused(Nfs3Status.NFS3ERR_PERM, () -> set(user, "own", NOTHING, 0, NOTHING, NOTHING));
        refused(Nfs3Status.NFS3ERR_PERM, () -> set(user, "own", NOTHING, NOTHING, 0, NOTHING));
        set(user(0), "own", NOTHING, OTHER, OTHER, NOTHING);
        assertThat((int) Files.getAttribute(directory.resolve("own"), "unix:uid")).isEqualTo(OTHER);
    }

    /** What touch(1) and an opening that truncates ask for; what time it was is for the owner to say. */
    @Test
    void timesOfTheServerAreForThoseWhoMayWrite() throws IOException {
        Path shared = file("shared", OTHER, 0666);
        Files.setLastModifiedTime(shared, FileTime.fromMillis(0));
        touch(user(USER), "shared", SERVER_TIME);
        assertThat(Files.getLastModifiedTime(shared)).isGreaterThan(FileTime.fromMillis(0));
        assertThat(shared).isEmptyFile();
        refused(Nfs3Status.NFS3ERR_PERM, () -> touch(user(USER), "shared", CLIENT_TIME));
        file("readable", OTHER, 0644);
        refused(Nfs3Status.NFS3ERR_ACCES, () -> touch(user(USER), "readable", SERVER_TIME));
        Path own = file("own", USER, 0644);
        touch(user(USER), "own", CLIENT_TIME);
        assertThat(Files.getLastModifiedTime(own)).isEqualTo(FileTime.fromMillis(7000));
    }

    /** It is no user: to the system, as an owner, it means that the owner stays. */
    @Test
    void whoSaysThatHeIsNoUserIsNobody() throws IOException {
        mode(directory, 0777);
        Caller none = user(-1);
        create(none, "f", NOTHING, NOTHING);
        XdrWriter link = attributes(name("/", "l"), NOTHING, NOTHING, NOTHING, NOTHING);
        link.writeString("target");
        service.creation().symlink(call(none, link));
        for (String each : List.of("f", "l")) {
            for (String owner : List.of("unix:uid", "unix:gid")) {
                Path made = directory.resolve(each);
                assertThat(Files.getAttribute(made, owner, LinkOption.NOFOLLOW_LINKS))
                        .isEqualTo(65534);
            }
        }
    }

    /** Data of another user never have the rights of the owner, not even those before a failure. */
    @Test
    void rightsOfTheOwnerGoBeforeDataCome() throws IOException {
        Path program = file("program", OTHER, 06777);
        XdrWriter arguments = new XdrWriter(new PartlyWritten());
        arguments.write(handle("program"));
        arguments.writeLong(0);
        for (int word : new int[] {4, 0, 4, 0x61626364}) {
            arguments.writeInt(word);
        }
        assertThatThrownBy(() -> service.data().write(call(user(USER), arguments)))
                .hasMessage("No space left on device");
        assertThat(program).hasContent("aext");
        assertThat(mode(program)).isEqualTo(0777);
    }

    /** The disk is full after one byte. */
    private static final class PartlyWritten extends UnpooledHeapByteBuf {
        PartlyWritten() {
            super(UnpooledByteBufAllocator.DEFAULT, 256, Integer.MAX_VALUE);
        }

        @Override
        public int getBytes(int index, FileChannel out, long position, int length)
                throws IOException {
            super.getBytes(index, out, position, 1);
            throw new IOException("No space left on device");
        }
    }

    @Test
    void nobodyMakesASetUserFileOfAnother() throws IOException {
        mode(directory, 0777);
        refused(Nfs3Status.NFS3ERR_PERM, () -> create(user(USER), "f", 04755, 0));
        // What cannot have its attributes goes again.
        assertThat(directory.resolve("f")).doesNotExist();
        Path program = file("program", OTHER, 04777);
        write(user(USER), "program");
        assertThat(mode(program)).isEqualTo(0777);
        mode(program, 06777);
        set(user(USER), "program", NOTHING, NOTHING, NOTHING, 100);
        assertThat(mode(program)).isEqualTo(0777);
    }

    @Test
    void namesAreForThoseWhomTheDirectoryLets() throws IOException {
        Path file = file("f", USER, 0644);
        Caller user = user(USER);
        refused(Nfs3Status.NFS3ERR_ACCES, () -> create(user, "new", 0644, NOTHING));
        refused(Nfs3Status.NFS3ERR_ACCES, () -> mkdir(user, "new", 0755));
        refused(Nfs3Status.NFS3ERR_ACCES, () -> remove(user, "f"));
        XdrWriter rename = name("/", "f");
        rename.write(handle("/"));
        rename.writeString("g");
        refused(Nfs3Status.NFS3ERR_ACCES, () -> service.names().rename(call(user, rename)));
        mode(directory, 0700);
        refused(Nfs3Status.NFS3ERR_ACCES, () -> service.names().lookup(call(user, name("/", "f"))));
        XdrWriter list = on("/");
        for (int i = 0; i < 4; i++) {
            list.writeInt(0);
        }
        list.writeInt(4096);
        refused(Nfs3Status.NFS3ERR_ACCES, () -> service.directories().readdir(call(user, list)));
        mode(directory, 01777);
        file("others", OTHER, 0666);
        refused(Nfs3Status.NFS3ERR_PERM, () -> remove(user, "others"));
        assertThatCode(() -> remove(user, "f")).doesNotThrowAnyException();
        assertThat(file).doesNotExist();
    }

    @Test
    void whatIsMadeBelongsToTheCallerAndToTheGroupOfASetGroupDirectory() throws IOException {
        mode(directory, 0777);
        create(user(USER), "f", 02755, NOTHING);
        assertThat((int) Files.getAttribute(directory.resolve("f"), "unix:uid")).isEqualTo(USER);
        assertThat((int) Files.getAttribute(directory.resolve("f"), "unix:gid")).isEqualTo(USER);
        Files.setAttribute(directory, "unix:gid", OTHER);
        mode(directory, 02777);
        create(user(USER), "g", 02755, NOTHING);
        assertThat((int) Files.getAttribute(directory.resolve("g"), "unix:gid")).isEqualTo(OTHER);
        assertThat(mode(directory.resolve("g"))).isEqualTo(0755);
        mkdir(user(USER), "d", 0750);
        assertThat((int) Files.getAttribute(directory.resolve("d"), "unix:gid")).isEqualTo(OTHER);
        // This bit is the directory's, whoever is in the group (mkdir(2)).
        assertThat(mode(directory.resolve("d"))).isEqualTo(02750);
    }

    @Test
    void rootIsNobodyUnlessItIsTrusted() throws IOException {
        Path file = file("f", 0, 0600);
        Caller root = Caller.of(0, 0, List.of(0), Caller.Policy.ROOT_SQUASHED);
        assertThat(root.uid()).isEqualTo(65534);
        assertThat(root.isInGroup(0)).isFalse();
        refused(Nfs3Status.NFS3ERR_ACCES, () -> read(root, "f"));
        refused(Nfs3Status.NFS3ERR_PERM, () -> set(root, "f", 0777, NOTHING, NOTHING, NOTHING));
        assertThat(mode(file)).isEqualTo(0600);
    }

    @Test
    void whoDoesNotSayIsNobody() throws IOException {
        file("secret", 0, 0600);
        try (NfsFixture fixture =
                        new NfsFixture(
                                NfsFixture.Transport.TCP, directory, state.resolve("key"), false);
                RpcConnection rpc = RpcConnection.tcp(fixture.nfsAddress())) {
            NfsHandle file = fixture.nfs().lookup(fixture.root(), "secret").handle();
            Nfs3Client nobody = new Nfs3Client(rpc, OpaqueAuth.NONE);
            assertThatThrownBy(() -> nobody.await(nobody.read(file, "secret", 0, 10)))
                    .hasMessage("secret: permission denied");
            assertThatThrownBy(() -> nobody.truncate(file, "secret", 0))
                    .hasMessage("secret: permission denied");
        }
    }

    @Test
    void aServerThatIsNotRootLeavesItToTheSystem() {
        assertThat(Caller.Policy.of(USER, true)).isEqualTo(Caller.Policy.AS_SERVER);
        assertThat(Caller.of(0, 0, List.of(), Caller.Policy.AS_SERVER).isChecked()).isFalse();
    }
}
