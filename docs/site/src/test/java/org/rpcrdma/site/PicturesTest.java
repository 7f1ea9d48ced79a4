// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.site;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The pictures of the documents are those that their text draws. */
class PicturesTest {

    private static final Path PICTURES = Path.of("../pictures");

    /** A picture that was drawn before its text was changed has other words in it. */
    @Test
    void picturesSayWhatTheirTextSays() throws IOException {
        try (Stream<Path> files = Files.list(PICTURES)) {
            List<Path> texts = files.filter(file -> file.toString().endsWith(".puml")).toList();
            assertThat(texts).isNotEmpty();
            for (Path text : texts) {
                String picture =
                        Files.readString(Path.of(text.toString().replaceAll("puml$", "svg")));
                Matcher word =
                        Pattern.compile("(?m)^ *(?:rectangle \"(.*)\" as|title (.*)$)")
                                .matcher(Files.readString(text));
                while (word.find()) {
                    String label = word.group(1) == null ? word.group(2) : word.group(1);
                    for (String line : label.split("\\\\n", -1)) {
                        assertThat(picture).contains('>' + line + '<');
                    }
                }
            }
        }
    }
}
