// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.site;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Heading;
import org.commonmark.node.HtmlBlock;
import org.commonmark.node.Image;
import org.commonmark.node.IndentedCodeBlock;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** One document: its headings with their anchors, and its text as HTML. */
final class Page {

    private static final List<Extension> EXTENSIONS = List.of(TablesExtension.create());
    private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();

    private final Path path;
    private final Node document;
    private final Map<String, Heading> headings = new LinkedHashMap<>();

    /** Parses the Markdown {@code text} of the file {@code path}, which is relative to the repository. */
    Page(Path path, String text) {
        this.path = path;
        document = PARSER.parse(text);
        document.accept(
                new AbstractVisitor() {
                    @Override
                    public void visit(Heading heading) {
                        headings.put(freeAnchor(heading), heading);
                    }

                    /** A comment is for those who write; other HTML would be shown as text. */
                    @Override
                    public void visit(HtmlBlock html) {
                        if (html.getLiteral().startsWith("<!--")) {
                            html.unlink();
                        }
                    }
                });
    }

    Path path() {
        return path;
    }

    /** Where its HTML is, relative to the site. */
    Path target() {
        return path.toString().equals("README.md")
                ? Path.of("index.html")
                : Path.of(path.toString().replaceAll("\\.md$", ".html"));
    }

    /** A link from its HTML to the file {@code target} of the site. */
    String linkTo(Path target) {
        return "../".repeat(path.getNameCount() - 1) + target;
    }

    String title() {
        return words(headings.values().iterator().next());
    }

    boolean hasAnchor(String anchor) {
        return headings.containsKey(anchor);
    }

    /** The anchors and the words of the headings of the second level. */
    Map<String, String> sections() {
        Map<String, String> sections = new LinkedHashMap<>();
        headings.forEach(
                (anchor, heading) -> {
                    if (heading.getLevel() == 2) {
                        sections.put(anchor, words(heading));
                    }
                });
        return sections;
    }

    /** The anchors and the words of all headings. */
    Map<String, String> titles() {
        Map<String, String> titles = new LinkedHashMap<>();
        headings.forEach((anchor, heading) -> titles.put(anchor, words(heading)));
        return titles;
    }

    /** For the anchor of each heading the words between it and the next one, in small letters. */
    Map<String, Set<String>> words() {
        Map<Node, String> anchors = anchors();
        Map<String, Set<String>> words = new LinkedHashMap<>();
        Set<String> section = new TreeSet<>();
        for (Node node = document.getFirstChild(); node != null; node = node.getNext()) {
            if (node instanceof Heading) {
                section = new TreeSet<>();
                words.put(anchors.get(node), section);
            } else {
                String text = text(node).toLowerCase(Locale.ROOT);
                section.addAll(List.of(text.split("[^\\p{L}\\p{N}_]+")));
            }
            section.remove("");
        }
        return words;
    }

    /**
     * Its text, with {@code destination} applied to what its links and pictures name, and links from the code for which
     * {@code code} knows a file of the site. To be called once.
     */
    String html(UnaryOperator<String> destination, Function<String, Path> code) {
        document.accept(
                new AbstractVisitor() {
                    @Override
                    public void visit(Link link) {
                        link.setDestination(destination.apply(link.getDestination()));
                        visitChildren(link);
                    }

                    @Override
                    public void visit(Image image) {
                        image.setDestination(destination.apply(image.getDestination()));
                    }
                });
        linkCode(code);
        Map<Node, String> anchors = anchors();
        return HtmlRenderer.builder()
                .extensions(EXTENSIONS)
                .escapeHtml(true)
                .attributeProviderFactory(
                        context ->
                                (node, tag, attributes) -> {
                                    if (node instanceof Heading) {
                                        attributes.put("id", anchors.get(node));
                                    }
                                })
                .build()
                .render(document);
    }

    /**
     * As sites that show Markdown name it: small letters, a hyphen for a space, nothing for other characters, and a
     * number for what is there already.
     */
    private String freeAnchor(Heading heading) {
        String anchor =
                words(heading)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-');
        String free = anchor;
        for (int i = 1; headings.containsKey(free); i++) {
            free = anchor + "-" + i;
        }
        return free;
    }

    /** Makes links of the code in its text for which {@code target} knows a file of the site. */
    private void linkCode(Function<String, Path> target) {
        document.accept(
                new AbstractVisitor() {
                    @Override
                    public void visit(Code code) {
                        Path file = target.apply(code.getLiteral());
                        if (file != null) {
                            Link link = new Link(linkTo(file), null);
                            code.insertBefore(link);
                            link.appendChild(code);
                        }
                    }

                    @Override
                    public void visit(Heading heading) {}

                    @Override
                    public void visit(Link link) {}
                });
    }

    private Map<Node, String> anchors() {
        Map<Node, String> anchors = new HashMap<>();
        headings.forEach((anchor, heading) -> anchors.put(heading, anchor));
        return anchors;
    }

    private static String words(Heading heading) {
        StringBuilder words = new StringBuilder();
        heading.accept(
                new AbstractVisitor() {
                    @Override
                    public void visit(Text text) {
                        words.append(text.getLiteral());
                    }

                    @Override
                    public void visit(Code code) {
                        words.append(code.getLiteral());
                    }
                });
        return words.toString();
    }

    /** All of it, with a space after each piece. */
    private static String text(Node node) {
        StringBuilder all = new StringBuilder();
        node.accept(
                new AbstractVisitor() {
                    @Override
                    public void visit(Text text) {
                        all.append(text.getLiteral()).append(' ');
                    }

                    @Override
                    public void visit(Code code) {
                        all.append(code.getLiteral()).append(' ');
                    }

                    @Override
                    public void visit(FencedCodeBlock block) {
                        all.append(block.getLiteral()).append(' ');
                    }

                    @Override
                    public void visit(IndentedCodeBlock block) {
                        all.append(block.getLiteral()).append(' ');
                    }
                });
        return all.toString();
    }
}
