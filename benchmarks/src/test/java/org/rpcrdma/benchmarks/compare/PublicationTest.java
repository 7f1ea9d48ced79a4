// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the documents show is what the results beside them say. */
class PublicationTest {

    private static final Path DOCUMENTS = Path.of("..", "docs");
    private static final Pattern PICTURE = Pattern.compile("!\\[[^]]*]\\(([^)]+)\\)");

    private final Publication published = new Publication(DOCUMENTS);

    @Test
    void thePageShowsTheResultsBesideIt() throws Exception {
        Comparison comparison = Comparison.read(published.json());
        String page = Files.readString(published.page());
        assertThat(page)
                .as("benchmarks/compare --from %s --publish", published.json())
                .isEqualTo(Publication.withTables(page, comparison));
        assertThat(Files.readString(published.tables()))
                .isEqualTo(Publication.allTables(comparison));
    }

    @Test
    void thePageHasItsPictures() throws Exception {
        Matcher found = PICTURE.matcher(Files.readString(published.page()));
        List<String> pictures = new ArrayList<>();
        while (found.find()) {
            pictures.add(found.group(1));
        }
        assertThat(pictures)
                .isNotEmpty()
                .allSatisfy(picture -> assertThat(DOCUMENTS.resolve(picture)).isNotEmptyFile());
    }

    @Test
    void resultsAreWrittenAndReadAlike(@TempDir Path directory) throws Exception {
        Comparison comparison = Comparison.read(published.json());
        Path json = directory.resolve("again/comparison.json");
        comparison.write(json);
        assertThat(Comparison.read(json)).isEqualTo(comparison);
        assertThat(json).hasSameTextualContentAs(published.json());
    }

    @Test
    void aPageWithoutRoomIsLeftAlone() throws Exception {
        Comparison comparison = Comparison.read(published.json());
        assertThatThrownBy(() -> Publication.withTables("# Speed\n", comparison))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("the page has no room for tables");
    }
}
