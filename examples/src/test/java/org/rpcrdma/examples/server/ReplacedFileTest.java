// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileKey;
import org.rpcrdma.examples.export.FileLocks;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** A file whose name becomes another one's between being found and being used is never taken for the other one. */
class ReplacedFileTest {

    private static final String OLD = "the old file";
    private static final String NEW = "the new file";

    @TempDir private Path directory;
    @TempDir private Path state;

    private final FileLocks locks = new FileLocks();
    private Export export;
    private Nfs3Service service;
    private Path name;
    private FileKey key;
    private NfsHandle handle;

    @BeforeEach
    void serve() throws IOException {
        name = Files.writeString(directory.resolve("name"), OLD);
        export = new Export(directory, false, state.resolve("key"));
        service = Nfs3Service.of(export, locks, Caller.Policy.AS_SERVER, 0);
        try (Located file = export.locate("name")) {
            key = file.key();
            handle = export.handle(file);
        }
    }

    @AfterEach
    void close() {
        export.close();
    }

    private interface Call {
        Object run(ReplacedFileTest test) throws IOException;
    }

    /**
     * What a test does with the file, by its handle.
     *
     * @param isFileBusy whether it has to wait for the file itself too, and not for the names alone
     */
    private record Procedure(String name, Call call, boolean isFileBusy) {
        @Override
        public String toString() {
            return name + (isFileBusy ? " behind a change of the file" : "");
        }
    }

    private static XdrWriter arguments(NfsHandle handle) {
        XdrWriter arguments = new XdrWriter(Unpooled.buffer());
        arguments.write(handle);
        return arguments;
    }

    private static Nfs3Call call(XdrWriter arguments) {
        return new Nfs3Call(
                arguments.buffer(),
                Caller.of(0, 0, List.of(), Caller.Policy.AS_SERVER),
                UnpooledByteBufAllocator.DEFAULT);
    }

    private Object write() throws IOException {
        XdrWriter arguments = arguments(handle);
        arguments.writeLong(0);
        for (int word : new int[] {4, 0, 4, 0}) {
            arguments.writeInt(word);
        }
        return service.data().write(call(arguments));
    }

    private Object truncate() throws IOException {
        XdrWriter arguments = arguments(handle);
        for (int isSet : new int[] {0, 0, 0, 1}) {
            arguments.writeInt(isSet);
        }
        arguments.writeLong(0);
        for (int i = 0; i < 3; i++) {
            arguments.writeInt(0);
        }
        return service.attributes().setattr(call(arguments));
    }

    private Object read() throws IOException {
        XdrWriter arguments = arguments(handle);
        arguments.writeLong(0);
        arguments.writeInt(100);
        try (Nfs3Call call = call(arguments)) {
            return service.data().read(call);
        }
    }

    private Object commit() throws IOException {
        XdrWriter arguments = arguments(handle);
        arguments.writeLong(0);
        arguments.writeInt(0);
        return service.data().commit(call(arguments));
    }

    private Object link() throws IOException {
        XdrWriter arguments = arguments(handle);
        arguments.write(export.rootHandle());
        arguments.writeString("linked");
        return service.names().link(call(arguments));
    }

    static Stream<Procedure> procedures() {
        return Stream.of(true, false)
                .flatMap(
                        isFileBusy ->
                                Stream.of(
                                        new Procedure("WRITE", ReplacedFileTest::write, isFileBusy),
                                        new Procedure(
                                                "SETATTR", ReplacedFileTest::truncate, isFileBusy),
                                        new Procedure("READ", ReplacedFileTest::read, isFileBusy),
                                        new Procedure(
                                                "COMMIT", ReplacedFileTest::commit, isFileBusy),
                                        new Procedure("LINK", ReplacedFileTest::link, isFileBusy)));
    }

    /** Runs a call that finds the file, and has its name replaced while it waits for a lock. */
    private int statusWhen(Procedure procedure, FileLocks.Work<?> replacement) throws Exception {
        FutureTask<Object> call = new FutureTask<>(() -> procedure.call.run(this));
        Thread thread = new Thread(call);
        FileKey busy = procedure.isFileBusy ? key : new FileKey(0, 0, 0);
        locks.holding(
                busy,
                () ->
                        locks.changingNames(
                                () -> {
                                    thread.start();
                                    while (LockSupport.getBlocker(thread) == null
                                            && !call.isDone()) {
                                        Thread.onSpinWait();
                                    }
                                    return replacement.run();
                                }));
        try {
            call.get();
            return Nfs3Status.NFS3_OK;
        } catch (ExecutionException e) {
            int status = ((NfsException) e.getCause()).status();
            while (status == Nfs3Status.NFS3ERR_JUKEBOX) {
                status = statusOf(procedure);
            }
            return status;
        }
    }

    private int statusOf(Procedure procedure) throws IOException {
        try {
            procedure.call.run(this);
            return Nfs3Status.NFS3_OK;
        } catch (NfsException e) {
            return e.status();
        }
    }

    @ParameterizedTest
    @MethodSource("procedures")
    void anotherFileIsLeftAlone(Procedure procedure) throws Exception {
        Path other = Files.writeString(directory.resolve("other"), NEW);
        int status =
                statusWhen(
                        procedure,
                        () -> Files.move(other, name, StandardCopyOption.REPLACE_EXISTING));
        assertThat(status).isEqualTo(Nfs3Status.NFS3ERR_STALE);
        assertThat(name).hasContent(NEW);
        assertThat(directory.resolve("linked")).doesNotExist();
    }

    /** Opening a pipe waits for its other end. */
    @ParameterizedTest
    @MethodSource("procedures")
    void aPipeIsNotOpened(Procedure procedure) throws Exception {
        Path pipe = directory.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
        int status =
                statusWhen(
                        procedure,
                        () -> Files.move(pipe, name, StandardCopyOption.REPLACE_EXISTING));
        assertThat(status).isEqualTo(Nfs3Status.NFS3ERR_STALE);
    }

    /** The file is found again where it is. */
    @ParameterizedTest
    @MethodSource("procedures")
    void theFileItselfIsUsedUnderItsNewName(Procedure procedure) throws Exception {
        Path moved = directory.resolve("moved");
        int status =
                statusWhen(
                        procedure,
                        () -> {
                            Files.move(name, moved);
                            return Files.writeString(name, NEW);
                        });
        assertThat(status).isEqualTo(Nfs3Status.NFS3_OK);
        assertThat(name).hasContent(NEW);
    }

    @Test
    void withoutAReplacementAllIsAsUsual() throws Exception {
        for (Procedure procedure : procedures().toList()) {
            Files.deleteIfExists(directory.resolve("linked"));
            assertThat(statusWhen(procedure, () -> null)).isEqualTo(Nfs3Status.NFS3_OK);
        }
        assertThat(Files.size(name)).isZero();
    }
}
