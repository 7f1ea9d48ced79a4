// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;

/** Files whose names others change, and more of them than the index has room for. */
class ExportTest {

    private static final int FILES_MAX = 10;

    @TempDir private Path directory;
    @TempDir private Path outside;

    private Export export;

    @BeforeEach
    void open() throws IOException {
        export = new Export(directory, false, outside.resolve("state/key"), FILES_MAX);
    }

    @AfterEach
    void close() {
        export.close();
    }

    private NfsHandle handle(String path) throws IOException {
        try (Located file = export.locate(path)) {
            return export.handle(file);
        }
    }

    /** Asks again as long as the file is being looked for. */
    private int status(NfsHandle handle) throws IOException {
        while (true) {
            try (Located file = export.locate(handle)) {
                return Nfs3Status.NFS3_OK;
            } catch (NfsException e) {
                if (e.status() != Nfs3Status.NFS3ERR_JUKEBOX) {
                    return e.status();
                }
            }
        }
    }

    @Test
    void theIndexIsBoundedAndWhatItLosesIsFound() throws IOException {
        List<NfsHandle> handles = new ArrayList<>();
        for (int i = 0; i < 5 * FILES_MAX; i++) {
            Files.createDirectories(directory.resolve("d" + i % 7 + "/sub"));
            Files.writeString(directory.resolve("d" + i % 7 + "/sub/f" + i), "");
            handles.add(handle("d" + i % 7 + "/sub/f" + i));
        }
        for (NfsHandle handle : handles) {
            assertThat(status(handle)).isZero();
        }
    }

    @Test
    void aBoundedIndexForgetsWhatWasNotUsedForLongest() {
        FileIndex index = new FileIndex(2);
        FileKey parent = new FileKey(0, 0, 0);
        for (int i = 1; i <= 3; i++) {
            index.add(new FileKey(0, i, 0), false, parent, "f" + i);
            assertThat(index.links(new FileKey(0, 1, 0))).hasSize(1);
        }
        assertThat(index.size()).isEqualTo(2);
        assertThat(index.links(new FileKey(0, 2, 0))).isEmpty();
        FileIndex ofNames = new FileIndex(10);
        ofNames.add(new FileKey(0, 2, 0), false, parent, "f2");
        for (int i = 0; i < 100; i++) {
            ofNames.add(new FileKey(0, 1, 0), false, parent, "name" + i);
        }
        assertThat(ofNames.links(new FileKey(0, 1, 0))).hasSize(8);
        assertThat(ofNames.size()).isEqualTo(2);
        for (int i = 0; i < 3; i++) {
            ofNames.add(new FileKey(0, 3, 0), false, parent, "another" + i);
        }
        assertThat(ofNames.links(new FileKey(0, 1, 0))).as("names count").isEmpty();
        assertThat(ofNames.links(new FileKey(0, 3, 0))).hasSize(3);
    }

    /** Of all that a walk passes by, the index keeps what was looked for. */
    @Test
    void aWalkLeavesTheIndexToWhatClientsUse() throws IOException {
        for (int i = 0; i < 5 * FILES_MAX; i++) {
            Files.writeString(directory.resolve("f" + i), "");
        }
        // What a walk comes by first, it comes by all others after.
        String first;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            first = files.iterator().next().getFileName().toString();
        }
        Files.writeString(directory.resolve("gone"), "");
        NfsHandle used = handle(first);
        NfsHandle gone = handle("gone");
        Files.delete(directory.resolve("gone"));
        assertThat(status(gone)).isEqualTo(Nfs3Status.NFS3ERR_STALE);
        assertThatCode(() -> export.locate(used).close()).doesNotThrowAnyException();
    }

    @Test
    void aFileThatIsThereIsNeverStale() throws IOException {
        Files.createDirectories(directory.resolve("a/b"));
        Files.writeString(directory.resolve("a/b/f"), "");
        Files.writeString(directory.resolve("gone"), "");
        NfsHandle file = handle("a/b/f");
        NfsHandle gone = handle("gone");
        Files.delete(directory.resolve("gone"));
        for (int i = 0; i < 20; i++) {
            // A walk has just ended.
            assertThat(status(gone)).isEqualTo(Nfs3Status.NFS3ERR_STALE);
            Files.move(directory.resolve("a/b/f"), directory.resolve("f"));
            assertThat(status(file)).isZero();
            Files.move(directory.resolve("f"), directory.resolve("a/b/f"));
            assertThat(status(file)).isZero();
        }
    }

    /** Users of the machine may put another file under the name after the last look at it. */
    @Test
    void whatWasOpenedIsTheFileOfTheHandle() throws IOException {
        Path one = Files.writeString(directory.resolve("one"), "");
        Path other = Files.writeString(directory.resolve("other"), "");
        try (Located file = export.locate("one");
                FileChannel opened = FileChannel.open(other)) {
            assertThatThrownBy(() -> new OpenFile(export, file.key(), opened, one))
                    .isInstanceOf(NoSuchFileException.class);
            assertThat(opened.isOpen()).isFalse();
        }
    }

    @Test
    void aDirectoryThatOthersHaveMovedHasAParent() throws IOException {
        Files.createDirectories(directory.resolve("p/d"));
        Files.createDirectories(directory.resolve("q"));
        NfsHandle moved = handle("p/d");
        Files.move(directory.resolve("p/d"), directory.resolve("q/d"));
        Files.delete(directory.resolve("p"));
        assertThat(status(moved)).isZero();
        try (Located d = export.locate(moved);
                Located parent = export.locateParent(d)) {
            assertThat(export.handle(parent)).isEqualTo(handle("q"));
            assertThat(new DirectoryReader().entriesAfter(d, 0)).isEmpty();
        }
    }

    @Test
    void whatWasMovedOutOfTheExportIsNotServed() throws IOException {
        Files.createDirectories(directory.resolve("d/sub"));
        Files.writeString(directory.resolve("d/sub/f"), "");
        NfsHandle d = handle("d");
        NfsHandle sub = handle("d/sub");
        NfsHandle file = handle("d/sub/f");
        Files.move(directory.resolve("d"), outside.resolve("d"));
        for (NfsHandle handle : List.of(file, sub, d)) {
            assertThat(status(handle)).isEqualTo(Nfs3Status.NFS3ERR_STALE);
        }
        Files.move(outside.resolve("d"), directory.resolve("back"));
        for (NfsHandle handle : List.of(file, sub, d)) {
            assertThat(status(handle)).isZero();
        }
    }

    @Test
    void aDirectoryThatLeavesTheExportWhileItIsUsedHasNoParent() throws IOException {
        Files.createDirectory(directory.resolve("d"));
        try (Located d = export.locate("d")) {
            Files.move(directory.resolve("d"), outside.resolve("d"));
            assertThatThrownBy(() -> export.locateParent(d)).hasMessage("moved out of the export");
        }
    }

    /** With two stale names for each of them, a way up that tried all would take 2^30 steps. */
    @Test
    void staleNamesOfDirectoriesCostNothing() throws IOException {
        StringBuilder path = new StringBuilder("d");
        for (int i = 0; i < 8; i++) {
            path.append("/d");
        }
        Files.createDirectories(directory.resolve(path.toString()));
        FileIndex index = new FileIndex(100);
        FileKey key = new FileKey(0, 1, 0);
        index.add(key, true, new FileKey(0, 2, 0), "old");
        index.add(key, true, new FileKey(0, 3, 0), "new");
        assertThat(index.links(key))
                .containsExactly(new FileIndex.Link(new FileKey(0, 3, 0), "new"));
        NfsHandle deepest = handle(path.toString());
        for (int i = 0; i < 5; i++) {
            Files.move(directory.resolve("d"), directory.resolve("e"));
            assertThat(status(deepest)).isZero();
            Files.move(directory.resolve("e"), directory.resolve("d"));
            assertThat(status(deepest)).isZero();
        }
    }

    /** Others than the one that walks are told to come again, and nobody waits. */
    @Test
    void nobodyWaitsForAWalk() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        FileKey there = new FileKey(0, 1, 0);
        FileKey gone = new FileKey(0, 2, 0);
        FileSearch search =
                new FileSearch(
                        sought -> {
                            begun.countDown();
                            try {
                                goOn.await();
                            } catch (InterruptedException e) {
                                Thread.currentThread().interrupt();
                            }
                            sought.remove(there);
                        });
        try (search) {
            assertThat(search.miss(gone).status()).isEqualTo(Nfs3Status.NFS3ERR_JUKEBOX);
            begun.await();
            assertThat(search.miss(gone).status()).isEqualTo(Nfs3Status.NFS3ERR_JUKEBOX);
            // Too late for this walk.
            assertThat(search.miss(there).status()).isEqualTo(Nfs3Status.NFS3ERR_JUKEBOX);
            goOn.countDown();
            int status;
            do {
                status = search.miss(gone).status();
            } while (status == Nfs3Status.NFS3ERR_JUKEBOX);
            assertThat(status).isEqualTo(Nfs3Status.NFS3ERR_STALE);
            // What is asked for again is looked for again.
            assertThat(search.miss(gone).status()).isEqualTo(Nfs3Status.NFS3ERR_JUKEBOX);
        }
    }

    /** Each of two clients has its answer, though walks for the other one have come between. */
    @Test
    void whatOneMissesIsToldAfterTheWalksOfOthers() {
        FileKey gone = new FileKey(0, 1, 0);
        try (FileSearch search = new FileSearch(sought -> {})) {
            search.miss(gone);
            for (int i = 0; i < 3; i++) {
                FileKey other = new FileKey(0, 2 + i, 0);
                while (search.miss(other).status() == Nfs3Status.NFS3ERR_JUKEBOX) {
                    Thread.onSpinWait();
                }
            }
            assertThat(search.miss(gone).status()).isEqualTo(Nfs3Status.NFS3ERR_STALE);
        }
    }

    @Test
    void listingsAreBoundedAllTogether() throws IOException {
        DirectoryReader reader = new DirectoryReader(10);
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 6; j++) {
                Files.createDirectories(directory.resolve("d" + i + "/" + j));
            }
        }
        for (int round = 0; round < 20; round++) {
            try (Located d = export.locate("d" + round % 5)) {
                assertThat(reader.entriesAfter(d, 0)).hasSize(6);
            }
        }
        for (int j = 6; j < 11; j++) {
            Files.createDirectories(directory.resolve("d0/" + j));
        }
        for (int round = 0; round < 3; round++) {
            try (Located large = export.locate("d0");
                    Located d = export.locate("d1")) {
                assertThatThrownBy(() -> reader.entriesAfter(large, 0))
                        .hasMessageContaining("more than 9 entries");
                assertThat(reader.entriesAfter(d, 0)).hasSize(6);
            }
        }
    }

    @Test
    void theKeyOfHandlesIsNotServed() {
        assertThatThrownBy(() -> new Export(directory, false, directory.resolve("s/key")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("in the export");
    }

    @Test
    void handlesOfAReadOnlyExportStayWhatTheyAre() throws IOException {
        Files.writeString(directory.resolve("f"), "");
        // As after its making; with the first change from then on, it could be told apart.
        Files.setLastModifiedTime(
                directory, (FileTime) Files.getAttribute(directory, "creationTime"));
        List<NfsHandle> handles = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            try (Export readOnly = new Export(directory, true, outside.resolve("state/key"));
                    Located file = readOnly.locate("f")) {
                handles.add(readOnly.handle(file));
            }
            // The directory's time of change is not its time of birth any more.
            Files.writeString(directory.resolve("g" + i), "");
        }
        assertThat(handles.get(1)).isEqualTo(handles.get(0));
    }
}
