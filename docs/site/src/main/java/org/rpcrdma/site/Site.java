// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.site;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * The documents of the repository as HTML pages, in directories as they are there. Files below {@code docs} that they
 * name are copied; links to other files lead to the public repository, and names of types to their Javadoc.
 */
public final class Site {

    private static final Path DOCS = Path.of("docs");
    private static final Path INDEX = Path.of("index.html");
    private static final Path SEARCH = Path.of("search.html");

    private final Path repository;
    private final Path output;
    private final String publicRepository;
    private final ApiDocs apiDocs;

    /** The headings of the navigation, and the pages under each. */
    private final Map<String, List<Page>> groups = new LinkedHashMap<>();

    private final Map<Path, Page> pages = new LinkedHashMap<>();
    private final TreeSet<Path> copies = new TreeSet<>();
    private final List<String> broken = new ArrayList<>();

    private Site(Path repository, Path output, String publicRepository, ApiDocs apiDocs) {
        this.repository = repository.toAbsolutePath().normalize();
        this.output = output;
        this.publicRepository = publicRepository;
        this.apiDocs = apiDocs;
    }

    /**
     * Writes the site, and the Javadoc into it if that is wanted.
     *
     * @param args the repository, the directory to write to, where the repository is in public, and {@code true} for
     *     the Javadoc
     * @throws IOException if a file cannot be read or written
     * @throws IllegalStateException if a link leads nowhere, with all such links
     */
    public static void main(String[] args) throws IOException {
        Path output = Path.of(args[1]);
        ApiDocs apiDocs = build(resource("navigation.txt"), Path.of(args[0]), output, args[2]);
        if (Boolean.parseBoolean(args[3])) {
            apiDocs.write(output);
        }
    }

    /** Writes all but the Javadoc, which is returned. */
    static ApiDocs build(String navigation, Path repository, Path output, String publicRepository)
            throws IOException {
        ApiDocs apiDocs = new ApiDocs(repository);
        Site site = new Site(repository, output, publicRepository, apiDocs);
        site.readPages(navigation);
        site.write();
        return apiDocs;
    }

    private void readPages(String navigation) throws IOException {
        List<Page> group = List.of();
        for (String line : navigation.lines().toList()) {
            if (line.endsWith(".md")) {
                Path path = Path.of(line);
                Page page = new Page(path, Files.readString(repository.resolve(path)));
                pages.put(path, page);
                group.add(page);
            } else if (!line.isBlank() && !line.startsWith("#")) {
                group = groups.computeIfAbsent(line, heading -> new ArrayList<>());
            }
        }
    }

    private void write() throws IOException {
        String template = resource("page.html");
        Map<Path, String> written = new LinkedHashMap<>();
        written.put(Path.of("search-index.js"), SearchIndex.of(pages.values()));
        for (Page page : pages.values()) {
            String content = page.html(destination -> resolve(page, destination), apiDocs::page);
            written.put(page.target(), fill(template, page, content));
        }
        if (!broken.isEmpty()) {
            throw new IllegalStateException("links that lead nowhere: " + broken);
        }
        written.put(
                SEARCH,
                fill(
                        template,
                        new Page(Path.of("search.md"), "# Search"),
                        resource("search.html")));
        for (String name : List.of("style.css", "search.js")) {
            written.put(Path.of(name), resource(name));
        }
        for (Map.Entry<Path, String> file : written.entrySet()) {
            Files.writeString(withDirectory(file.getKey()), file.getValue());
        }
        for (Path file : copies) {
            Files.copy(
                    repository.resolve(file),
                    withDirectory(file),
                    StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private Path withDirectory(Path file) throws IOException {
        Path absolute = output.resolve(file);
        Files.createDirectories(absolute.getParent());
        return absolute;
    }

    private String resolve(Page from, String destination) {
        if (destination.matches("[a-z]+:.*")) {
            return destination;
        }
        int hash = destination.indexOf('#');
        String name = hash < 0 ? destination : destination.substring(0, hash);
        String anchor = hash < 0 ? "" : destination.substring(hash);
        Path file = name.isEmpty() ? from.path() : from.path().resolveSibling(name).normalize();
        Path absolute = repository.resolve(file).normalize();
        Page page = pages.get(file);
        if (page != null && (hash < 0 || page.hasAnchor(anchor.substring(1)))) {
            return name.isEmpty() ? anchor : from.linkTo(page.target()) + anchor;
        }
        if (page != null || !absolute.startsWith(repository) || !Files.exists(absolute)) {
            broken.add(from.path() + ": " + destination);
            return destination;
        }
        if (file.startsWith(DOCS) && Files.isRegularFile(absolute)) {
            copies.add(file);
            return destination;
        }
        String kind = Files.isDirectory(absolute) ? "tree" : "blob";
        return publicRepository + '/' + kind + "/HEAD/" + file + anchor;
    }

    private String fill(String template, Page page, String content) {
        boolean isIndex = page.target().equals(INDEX);
        String name = pages.values().iterator().next().title();
        return template.replace(
                        "{title}", escaped(isIndex ? name : page.title() + " \u00b7 " + name))
                .replace("{root}", page.linkTo(Path.of("")))
                .replace("{navigation}", navigation(page))
                .replace("{content}", content);
    }

    private String navigation(Page current) {
        StringBuilder html = new StringBuilder();
        groups.forEach(
                (heading, group) -> {
                    html.append("<p>").append(escaped(heading)).append("</p>\n<ul>\n");
                    for (Page page : group) {
                        item(html, page, current);
                    }
                    html.append("</ul>\n");
                });
        return html.toString();
    }

    private static void item(StringBuilder html, Page page, Page current) {
        html.append("<li><a href=\"").append(current.linkTo(page.target())).append('"');
        if (page == current) {
            html.append(" aria-current=\"page\"");
        }
        html.append('>').append(escaped(page.title())).append("</a>");
        if (page == current && !page.sections().isEmpty()) {
            html.append("\n<ul>\n");
            page.sections()
                    .forEach(
                            (anchor, words) ->
                                    html.append("<li><a href=\"#")
                                            .append(escaped(anchor))
                                            .append("\">")
                                            .append(escaped(words))
                                            .append("</a></li>\n"));
            html.append("</ul>\n");
        }
        html.append("</li>\n");
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }

    static String resource(String name) throws IOException {
        try (InputStream in = Site.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
