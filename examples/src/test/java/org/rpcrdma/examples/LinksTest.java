// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the documents point at inside of the repository is there: files, headings in them, and pictures. */
class LinksTest {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /** A link may be broken over two lines. */
    private static final Pattern LINK = Pattern.compile("\\[[^\\]]*]\\(([^)\\s]+)\\)");

    private static final Pattern CODE = Pattern.compile("(?ms)^```.*?^```|`[^`\\n]*`");
    private static final Pattern HEADING = Pattern.compile("(?m)^#{1,6} +(.*?) *$");

    @Test
    void everyLinkLeadsSomewhere() throws IOException {
        List<String> broken = new ArrayList<>();
        int links = 0;
        for (Path document : documents()) {
            String text = CODE.matcher(Files.readString(document)).replaceAll("");
            Matcher link = LINK.matcher(text);
            while (link.find()) {
                String target = link.group(1);
                if (!target.matches("[a-z]+:.*")) {
                    links++;
                    if (!leadsSomewhere(document, target)) {
                        broken.add(ROOT.relativize(document) + ": " + target);
                    }
                }
            }
        }
        assertThat(links).isGreaterThan(40);
        assertThat(broken).isEmpty();
    }

    /** A picture that was drawn before its text was changed has other words in it. */
    @Test
    void picturesSayWhatTheirTextSays() throws IOException {
        try (Stream<Path> files = Files.list(ROOT.resolve("docs/pictures"))) {
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

    private static boolean leadsSomewhere(Path document, String target) throws IOException {
        int hash = target.indexOf('#');
        String path = hash < 0 ? target : target.substring(0, hash);
        Path file = path.isEmpty() ? document : document.resolveSibling(path).normalize();
        if (!file.startsWith(ROOT) || !Files.exists(file)) {
            return false;
        }
        return hash < 0 || anchors(file).contains(target.substring(hash + 1));
    }

    /** As sites that show Markdown name them: small letters, a hyphen for a space, and nothing for other characters. */
    private static Set<String> anchors(Path file) throws IOException {
        return HEADING.matcher(Files.readString(file))
                .results()
                .map(heading -> heading.group(1).toLowerCase(Locale.ROOT))
                .map(heading -> heading.replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-'))
                .collect(Collectors.toSet());
    }

    private static List<Path> documents() throws IOException {
        List<Path> documents = new ArrayList<>();
        for (Path directory : List.of(ROOT, ROOT.resolve("docs"))) {
            try (Stream<Path> files = Files.list(directory)) {
                files.filter(file -> file.toString().endsWith(".md")).forEach(documents::add);
            }
        }
        assertThat(documents).contains(ROOT.resolve("README.md"));
        return documents;
    }
}
