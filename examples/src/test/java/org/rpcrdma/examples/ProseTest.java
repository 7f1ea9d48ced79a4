// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Sources and documents can be read beside each other: no line is wider than {@link #COLUMNS}. */
class ProseTest {

    private static final int COLUMNS = 120;

    /** Characters of a table's cell: what is longer is a paragraph or a list behind the table. */
    private static final int CELL = 300;

    private static final Path ROOT = Path.of("..");

    /** The comment in front of a type, without its first asterisks. */
    private static final Pattern DESCRIPTION =
            Pattern.compile(
                    "/\\*\\*[\\s*]*((?:(?!\\*/).)*+)\\*/\\s*"
                            + "(?:@\\w+(?:\\([^)]*\\))?\\s*)*(?:(?:public|abstract|final|sealed) )*"
                            + "(?:class|interface|enum|record|@interface) ",
                    Pattern.DOTALL);

    private static final Pattern PACKAGE =
            Pattern.compile(
                    "(?:netty-transport-rdma|netty-transport-rdma/netty42|codec-rpcrdma)"
                            + "/src/main/java/(org/rpcrdma.*)/package-info\\.java");

    private static final Pattern MODULE = Pattern.compile("<module>(.*?)</module>");

    private static final Pattern QUESTION =
            Pattern.compile("(What|How|By which|Whether|When|Which|Where|Who|Why)\\b");

    @Test
    void noLineIsWide() throws IOException {
        List<String> wide = new ArrayList<>();
        List<Path> files = files();
        assertThat(files)
                .contains(ROOT.resolve("README.md"), ROOT.resolve("docs/architecture.md"))
                .hasSizeGreaterThan(500);
        files.forEach(file -> addWide(file, wide));
        assertThat(wide)
                .as(
                        "lines of more than %d columns: break them, comments where they read best",
                        COLUMNS)
                .isEmpty();
    }

    @Test
    void noCellOfATableIsAParagraph() throws IOException {
        List<String> longCells = new ArrayList<>();
        for (Path file : files()) {
            if (file.toString().endsWith(".md")) {
                for (String line : Files.readAllLines(file)) {
                    addLongCells(file, line.strip(), longCells);
                }
            }
        }
        assertThat(longCells).as("cells of more than %d characters", CELL).isEmpty();
    }

    private static void addLongCells(Path file, String line, List<String> longCells) {
        if (line.startsWith("|")) {
            for (String cell : line.split("(?<!\\\\)\\|", -1)) {
                String text = cell.strip();
                if (text.length() > CELL) {
                    longCells.add(ROOT.relativize(file) + ": " + text.substring(0, 60));
                }
            }
        }
    }

    /** The overview leaves out no package of the libraries, and no module. */
    @Test
    void theOverviewNamesAllPackagesAndModules() throws IOException {
        String overview = Files.readString(ROOT.resolve("docs/architecture.md"));
        List<String> packages = new ArrayList<>();
        for (Path file : files()) {
            String path = ROOT.relativize(file).toString().replace('\\', '/');
            Matcher name = PACKAGE.matcher(path);
            if (name.matches()) {
                packages.add(name.group(1).replace('/', '.'));
            }
        }
        assertThat(packages)
                .hasSizeGreaterThan(20)
                .allSatisfy(name -> assertThat(overview).containsPattern(name + "[ `]"));
        Matcher module = MODULE.matcher(Files.readString(ROOT.resolve("pom.xml")));
        assertThat(module.results().map(found -> found.group(1)))
                .hasSizeGreaterThan(10)
                .allSatisfy(name -> assertThat(overview).containsPattern(name + "[ `,]"));
    }

    /** The description of a class says what it is or does, by a noun phrase or a verb. */
    @Test
    void noClassOfTheLibrariesIsDescribedByAQuestion() throws IOException {
        List<String> questions = new ArrayList<>();
        for (Path file : files()) {
            String path = ROOT.relativize(file).toString();
            if (path.matches("(netty-transport-rdma|codec-rpcrdma)/src/main/.*\\.java")) {
                Matcher description = DESCRIPTION.matcher(Files.readString(file));
                if (description.find() && QUESTION.matcher(description.group(1)).lookingAt()) {
                    questions.add(path);
                }
            }
        }
        assertThat(questions).isEmpty();
    }

    private static void addWide(Path file, List<String> wide) {
        try {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                String line = lines.get(i);
                int columns = line.codePointCount(0, line.length());
                if (columns > COLUMNS && isBreakable(line)) {
                    wide.add(ROOT.relativize(file) + ":" + (i + 1) + ": " + columns + " columns");
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Not a row of a table, nor a single long word such as an address. */
    private static boolean isBreakable(String line) {
        String text = line.strip();
        return !text.startsWith("|") && text.indexOf(' ') >= 0;
    }

    /** Without what is built, and what tools keep in directories whose names begin with a dot. */
    private static List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>();
        Files.walkFileTree(
                ROOT,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult preVisitDirectory(
                            Path directory, BasicFileAttributes attributes) {
                        String name = directory.getFileName().toString();
                        boolean isSource =
                                directory.equals(ROOT)
                                        || !(name.equals("target") || name.startsWith("."));
                        return isSource ? FileVisitResult.CONTINUE : FileVisitResult.SKIP_SUBTREE;
                    }

                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                        String name = file.getFileName().toString();
                        if (name.endsWith(".java") || name.endsWith(".md")) {
                            files.add(file);
                        }
                        return FileVisitResult.CONTINUE;
                    }
                });
        return files;
    }
}
