// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.site;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** Whoever reads the site finds all of the documents, and what they point at. */
class SiteTest {

    private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();
    private static final String PUBLIC = "https://example.org/repository";

    @TempDir static Path site;

    /** By their paths in the site. Each is well-formed, for a parser of XML has read it. */
    private static final Map<Path, Document> pages = new LinkedHashMap<>();

    /** The one page that is no document. */
    private static Document search;

    @BeforeAll
    static void build() throws Exception {
        Site.build(Site.resource("navigation.txt"), ROOT, site, PUBLIC);
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
        try (Stream<Path> files = Files.walk(site)) {
            for (Path file : files.filter(file -> file.toString().endsWith(".html")).toList()) {
                pages.put(site.relativize(file), factory.newDocumentBuilder().parse(file.toFile()));
            }
        }
        search = pages.remove(Path.of("search.html"));
    }

    @Test
    void everyDocumentIsAPage() throws IOException {
        Set<Path> expected = new TreeSet<>();
        for (String directory : List.of("", "docs", "docs/design", "docs/performance")) {
            try (Stream<Path> files = Files.list(ROOT.resolve(directory))) {
                files.map(ROOT::relativize)
                        .filter(file -> file.toString().endsWith(".md"))
                        .map(file -> new Page(file, "").target())
                        .forEach(expected::add);
            }
        }
        assertThat(pages.keySet())
                .as("navigation.txt names the pages")
                .containsExactlyInAnyOrderElementsOf(expected)
                .hasSizeGreaterThan(10);
    }

    @Test
    void everyPageCanBeReachedByTheTextFromTheIndex() {
        Deque<Path> ahead = new ArrayDeque<>(List.of(Path.of("index.html")));
        Set<Path> reached = new TreeSet<>(ahead);
        while (!ahead.isEmpty()) {
            Path from = ahead.remove();
            Element text = only(pages.get(from), "main");
            for (String link : attributes(text.getElementsByTagName("a"), "href")) {
                Path to = from.resolveSibling(link.replaceAll("#.*", "")).normalize();
                if (pages.containsKey(to) && reached.add(to)) {
                    ahead.add(to);
                }
            }
        }
        assertThat(reached).containsExactlyInAnyOrderElementsOf(pages.keySet());
    }

    /** A picture or style of another host counts as missing. */
    @Test
    void whatPagesPointAtIsThere() {
        List<String> broken = new ArrayList<>();
        int checked = 0;
        for (Path page : pages.keySet()) {
            for (String target : targets(pages.get(page))) {
                checked++;
                if (!isThere(page, target)) {
                    broken.add(page + ": " + target);
                }
            }
        }
        assertThat(broken).isEmpty();
        assertThat(checked).isGreaterThan(pages.size() * pages.size());
    }

    /** Of pictures and styles all, of links those within the site. */
    private static List<String> targets(Document page) {
        NodeList elements = page.getElementsByTagName("*");
        List<String> targets = new ArrayList<>(attributes(elements, "src"));
        targets.addAll(attributes(page.getElementsByTagName("link"), "href"));
        targets.remove("data:,");
        attributes(page.getElementsByTagName("a"), "href").stream()
                .filter(target -> !target.startsWith("https://"))
                .forEach(targets::add);
        return targets;
    }

    private static boolean isThere(Path page, String target) {
        int hash = target.indexOf('#');
        String name = hash < 0 ? target : target.substring(0, hash);
        Path file = name.isEmpty() ? page : page.resolveSibling(name).normalize();
        if (hash >= 0) {
            return pages.containsKey(file)
                    && attributes(pages.get(file).getElementsByTagName("*"), "id")
                            .contains(target.substring(hash + 1));
        }
        return file.startsWith("apidocs") ? isDescribed(file) : isFile(site.resolve(file));
    }

    /** Javadoc, which is not written here, is of the public types that are there. */
    private static boolean isDescribed(Path page) {
        Path type = Path.of("apidocs").relativize(page);
        if (type.equals(Path.of("index.html"))) {
            return true;
        }
        String source = type.toString().replaceAll("html$", "java");
        return Stream.of("netty-transport-rdma", "codec-rpcrdma")
                .map(library -> ROOT.resolve(library).resolve("src/main/java").resolve(source))
                .anyMatch(SiteTest::declaresItsPublicType);
    }

    private static boolean declaresItsPublicType(Path source) {
        String name = source.getFileName().toString().replaceAll("\\.java$", "");
        try {
            return isFile(source)
                    && Files.readString(source)
                            .matches("(?s).*\npublic [^\n]*\\b" + name + "\\b.*");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isFile(Path file) {
        return Files.isRegularFile(file);
    }

    @Test
    void codeThatNamesATypeForUsersLeadsToItsJavadoc() throws IOException {
        ApiDocs apiDocs = new ApiDocs(ROOT);
        Path client = Path.of("apidocs/org/rpcrdma/codec/rpc/RpcClient.html");
        assertThat(apiDocs.page("RpcClient")).isEqualTo(client);
        assertThat(apiDocs.page("RpcClient.call(1)")).isEqualTo(client);
        assertThat(apiDocs.page("rpcrdma")).isNull();
        assertThat(apiDocs.page("TransportHeader")).as("internal").isNull();
        assertThat(apiDocs.page("CreditHandler")).as("not public").isNull();
        assertThat(
                        attributes(
                                pages.get(Path.of("docs/client.html")).getElementsByTagName("a"),
                                "href"))
                .contains("../" + client);
    }

    @Test
    void theIndexOfTheSearchHasEachSectionOfEachPage() throws IOException {
        Pattern entry =
                Pattern.compile("\\[\"([^\"]+)\",\"((?:[^\"\\\\]|\\\\.)*)\",\"([^\"]*)\"\\],?");
        Map<String, String> words = new LinkedHashMap<>();
        for (String line : Files.readAllLines(site.resolve("search-index.js"))) {
            Matcher section = entry.matcher(line);
            if (section.matches()) {
                assertThat(isThere(Path.of("index.html"), section.group(1))).as(line).isTrue();
                words.put(section.group(1), ' ' + section.group(3) + ' ');
            } else {
                assertThat(line).isIn("const SECTIONS = [", "];");
            }
        }
        long headings =
                pages.values().stream()
                        .flatMap(
                                page ->
                                        Stream.of("h1", "h2", "h3", "h4")
                                                .map(page::getElementsByTagName))
                        .mapToLong(NodeList::getLength)
                        .sum();
        assertThat(words).hasSize((int) headings);
        assertThat(words.get("docs/client.html#the-first-client")).contains(" rpcrdmaclient ");
    }

    @Test
    void eachPageAsksThePageThatSearches() {
        pages.forEach(
                (path, page) -> {
                    String action = only(page, "form").getAttribute("action");
                    assertThat(path.resolveSibling(action).normalize()).hasToString("search.html");
                });
        for (String script : attributes(search.getElementsByTagName("script"), "src")) {
            assertThat(site.resolve(script)).isRegularFile();
        }
        assertThat(search.getElementsByTagName("script").getLength()).isEqualTo(2);
    }

    @Test
    void pagesHaveOneNavigationAndNoScripts() {
        Set<String> navigations = new TreeSet<>();
        pages.forEach(
                (path, page) -> {
                    assertThat(page.getElementsByTagName("script").getLength()).isZero();
                    assertThat(attributes(page.getElementsByTagName("*"), "id"))
                            .doesNotHaveDuplicates();
                    Element navigation = only(page, "nav");
                    navigations.add(
                            attributes(navigation.getElementsByTagName("a"), "href").stream()
                                    .filter(link -> !link.startsWith("#"))
                                    .map(link -> path.resolveSibling(link).normalize())
                                    .toList()
                                    .toString());
                });
        assertThat(navigations).hasSize(1);
    }

    @Test
    void linksLeadToPagesAndAnchorsAndElseToThePublicRepository(@TempDir Path directory)
            throws IOException {
        String index =
                build(
                        directory,
                        "[1](docs/a.md#what-is-it-1) [2](pom.xml#L3) [3](docs) [4](docs/b.yml)"
                                + " [5](https://x.org/y.md) [6](#title)");
        assertThat(index)
                .contains(
                        "href=\"docs/a.html#what-is-it-1\"",
                        "href=\"" + PUBLIC + "/blob/HEAD/pom.xml#L3\"",
                        "href=\"" + PUBLIC + "/tree/HEAD/docs\"",
                        "href=\"docs/b.yml\"",
                        "href=\"https://x.org/y.md\"",
                        "href=\"#title\"");
        assertThat(Files.readString(directory.resolve("site/docs/a.html")))
                .contains(
                        "<title>A &amp; B \u00b7 Title</title>",
                        "<h2 id=\"what-is-it\">",
                        "<h2 id=\"what-is-it-1\">",
                        "href=\"../index.html\"",
                        "&lt;script&gt;")
                .doesNotContain("!--");
        assertThat(directory.resolve("site/docs/b.yml")).hasContent("b");
    }

    @Test
    void aLinkThatLeadsNowhereFailsTheBuild(@TempDir Path directory) {
        for (String link : List.of("docs/c.md", "docs/a.md#c", "#c", "../../etc", "docs/c.svg")) {
            assertThatThrownBy(() -> build(directory, "[c](" + link + ")"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("links that lead nowhere: [README.md: " + link + "]");
        }
    }

    /** The index of a site of two pages and two other files, with {@code text} on it. */
    private static String build(Path directory, String text) throws IOException {
        Path docs = Files.createDirectories(directory.resolve("repository/docs"));
        Path repository = docs.getParent();
        Files.writeString(repository.resolve("README.md"), "# Title\n\n" + text);
        Files.writeString(repository.resolve("pom.xml"), "");
        Files.writeString(docs.resolve("b.yml"), "b");
        Files.writeString(
                docs.resolve("a.md"),
                """
                # A & B
                ## What *is* `it`?
                ## What is it
                [i](../README.md) <script>

                <!-- for those who write -->
                """);
        Path output = directory.resolve("site");
        Site.build("# comment\nPages\nREADME.md\ndocs/a.md\n", repository, output, PUBLIC);
        return Files.readString(output.resolve("index.html"));
    }

    private static List<String> attributes(NodeList elements, String name) {
        List<String> values = new ArrayList<>();
        for (int i = 0; i < elements.getLength(); i++) {
            Element element = (Element) elements.item(i);
            if (element.hasAttribute(name)) {
                values.add(element.getAttribute(name));
            }
        }
        return values;
    }

    private static Element only(Document page, String name) {
        NodeList elements = page.getElementsByTagName(name);
        assertThat(elements.getLength()).isEqualTo(1);
        return (Element) elements.item(0);
    }
}
