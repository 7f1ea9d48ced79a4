// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.site;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The Javadoc of both libraries: of what users see, without the packages that are internal. */
final class ApiDocs {

    /** Where it is in the site. */
    static final Path DIRECTORY = Path.of("apidocs");

    private static final List<String> LIBRARIES = List.of("netty-transport-rdma", "codec-rpcrdma");

    /** {@code RpcClient}, or one of its members. */
    private static final Pattern NAME = Pattern.compile("([A-Z]\\w*)(?:[.#]\\w+(?:\\(.*\\))?)?");

    private static final Pattern PUBLIC =
            Pattern.compile("(?m)^public .*?\\b(?:class|interface|enum|record) (\\w+)");

    private final List<Path> sources = new ArrayList<>();
    private final TreeSet<String> packages = new TreeSet<>();

    /** By simple name: where the type is described, relative to the site; {@code null} where two have the name. */
    private final Map<String, Path> types = new HashMap<>();

    /** Finds the types of the libraries below {@code repository}; nothing if they are not there. */
    ApiDocs(Path repository) throws IOException {
        for (String library : LIBRARIES) {
            Path root = repository.resolve(library).resolve("src/main/java");
            if (Files.isDirectory(root)) {
                sources.add(root);
                find(root);
            }
        }
    }

    private void find(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path description :
                    files.filter(file -> file.endsWith("package-info.java")).toList()) {
                if (!Files.readString(description).contains("<p>Internal:")) {
                    Path directory = root.relativize(description.getParent());
                    packages.add(directory.toString().replace(File.separatorChar, '.'));
                    findTypes(root, directory);
                }
            }
        }
    }

    private void findTypes(Path root, Path directory) throws IOException {
        try (Stream<Path> files = Files.list(root.resolve(directory))) {
            for (Path file : files.filter(file -> file.toString().endsWith(".java")).toList()) {
                Matcher type = PUBLIC.matcher(Files.readString(file));
                if (type.find()) {
                    String name = type.group(1);
                    boolean isFirst = !types.containsKey(name);
                    Path page = DIRECTORY.resolve(directory).resolve(name + ".html");
                    types.put(name, isFirst ? page : null);
                }
            }
        }
    }

    /** The page of the type that a piece of code names, by itself or before a member; {@code null} if it names none. */
    Path page(String code) {
        Matcher name = NAME.matcher(code);
        return name.matches() ? types.get(name.group(1)) : null;
    }

    /**
     * Writes it into a site.
     *
     * @throws IllegalStateException if {@code javadoc} fails, or leaves out a type that pages may link to
     */
    void write(Path site) {
        ToolProvider javadoc =
                ToolProvider.findFirst("javadoc")
                        .orElseThrow(
                                () -> new IllegalStateException("no javadoc (expected: a JDK)"));
        List<String> arguments =
                new ArrayList<>(
                        List.of("-quiet", "-notimestamp", "-Xdoclint:none", "-encoding", "UTF-8"));
        // What is optional for users need not be here.
        arguments.addAll(List.of("--ignore-source-errors", "-windowtitle", "netty-rdma"));
        arguments.addAll(List.of("-sourcepath", joined(sources), "-classpath", classPath()));
        arguments.addAll(List.of("-d", site.resolve(DIRECTORY).toString()));
        arguments.addAll(packages);
        StringWriter said = new StringWriter();
        PrintWriter out = new PrintWriter(said);
        if (javadoc.run(out, out, arguments.toArray(String[]::new)) != 0) {
            throw new IllegalStateException("javadoc fails: " + said);
        }
        for (Path page : types.values()) {
            if (page != null && !Files.exists(site.resolve(page))) {
                throw new IllegalStateException("javadoc has not written " + page + ": " + said);
            }
        }
    }

    private static String joined(List<Path> paths) {
        return paths.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }

    /** In a build this program has a class loader of its own. */
    private static String classPath() {
        if (!(ApiDocs.class.getClassLoader() instanceof URLClassLoader loader)) {
            return System.getProperty("java.class.path");
        }
        return Stream.of(loader.getURLs())
                .map(URL::getPath)
                .collect(Collectors.joining(File.pathSeparator));
    }
}
