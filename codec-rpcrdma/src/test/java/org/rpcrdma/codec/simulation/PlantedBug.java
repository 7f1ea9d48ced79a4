// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * A defect that is written into a copy of a source of this project. Its text names the simulation that has to find it
 * and the seed that has found it last, then the classes, by their simple names, and for each the text that is replaced,
 * of which line breaks do not count.
 *
 * <pre>
 * simulation world
 * seed 4711
 * class RequesterCredits
 * &lt;&lt;&lt;&lt;
 * what is there
 * ====
 * what is there with the defect
 * &gt;&gt;&gt;&gt;
 * </pre>
 */
record PlantedBug(String name, String text) {

    private static final Pattern EDIT =
            Pattern.compile("class (\\w+)\\s*\n<<<<\n(.*?)\n====\n(.*?)\n?>>>>", Pattern.DOTALL);

    private static final Pattern SIMULATION = Pattern.compile("simulation (\\w+)");

    private static final Pattern SEED = Pattern.compile("(?m)^seed (\\d+)$");

    private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();

    /** One for all defects: it keeps the jars open, of which there are many. */
    private static final StandardJavaFileManager FILES =
            COMPILER.getStandardFileManager(null, null, null);

    static {
        try {
            FILES.setLocation(
                    StandardLocation.CLASS_PATH,
                    Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                            .map(File::new)
                            .toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static PlantedBug of(Path file) {
        try {
            return new PlantedBug(
                    file.getFileName().toString().replace(".txt", ""), Files.readString(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The simulation that has to find it. */
    String simulation() {
        Matcher matcher = SIMULATION.matcher(text);
        return matcher.find() ? matcher.group(1) : "world";
    }

    /** The seed that has found it last; negative when none is known. */
    private long seed() {
        Matcher matcher = SEED.matcher(text);
        return matcher.find() ? Long.parseLong(matcher.group(1)) : -1;
    }

    /**
     * Runs seeds with the defect: the one that has found it last, and the others only if it does not any more.
     *
     * @param sources where the classes are looked for
     * @param scratch an empty directory
     * @return the first failure; {@code null} when no seed finds it
     */
    String find(List<Path> sources, Path scratch, long seeds) throws Exception {
        compile(sources, scratch);
        List<URL> path = new ArrayList<>(List.of(url(scratch.toFile())));
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            path.add(url(new File(entry)));
        }
        try (URLClassLoader loader = new OwnClasses(path.toArray(new URL[0]))) {
            Method firstFailure =
                    loader.loadClass(Simulator.class.getName())
                            .getMethod("firstFailure", String.class, long.class, long.class);
            long known = seed();
            Object failure = known < 0 ? null : firstFailure.invoke(null, simulation(), known, 1L);
            return (String)
                    (failure == null
                            ? firstFailure.invoke(null, simulation(), 0L, seeds)
                            : failure);
        }
    }

    /** All classes of this project once more, so that those with the defect meet each other. */
    private static final class OwnClasses extends URLClassLoader {

        OwnClasses(URL[] path) {
            super(path, PlantedBug.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("org.rpcrdma.")) {
                // Compiled once for all defects.
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known == null ? findClass(name) : known;
            }
        }
    }

    private static URL url(File file) throws MalformedURLException {
        return file.toURI().toURL();
    }

    private void compile(List<Path> sources, Path scratch) throws IOException {
        Matcher edit = EDIT.matcher(text);
        List<Path> edited = new ArrayList<>();
        while (edit.find()) {
            Path file = file(sources, edit.group(1) + ".java");
            Path copy = scratch.resolve(file.getFileName());
            String source = Files.readString(edited.contains(copy) ? copy : file);
            Matcher place = pattern(edit.group(2)).matcher(source);
            if (!place.find()) {
                throw new AssertionError(
                        name + ": " + file + " has nothing like\n" + edit.group(2));
            }
            Files.writeString(copy, place.replaceFirst(Matcher.quoteReplacement(edit.group(3))));
            if (!edited.contains(copy)) {
                edited.add(copy);
            }
        }
        if (edited.isEmpty()) {
            throw new AssertionError(name + " edits nothing");
        }
        FILES.setLocationFromPaths(StandardLocation.CLASS_OUTPUT, List.of(scratch));
        boolean isCompiled =
                COMPILER.getTask(
                                null,
                                FILES,
                                problem -> {
                                    if (problem.getKind() == Diagnostic.Kind.ERROR) {
                                        throw new AssertionError(name + ": " + problem);
                                    }
                                },
                                List.of("-proc:none", "-nowarn"),
                                null,
                                FILES.getJavaFileObjectsFromPaths(edited))
                        .call();
        if (!isCompiled) {
            throw new AssertionError(name + " is not compiled");
        }
    }

    private static Pattern pattern(String code) {
        return Pattern.compile(
                Stream.of(code.strip().split("\\s+"))
                        .map(Pattern::quote)
                        .collect(Collectors.joining("\\s+")));
    }

    private static Path file(List<Path> sources, String name) throws IOException {
        for (Path root : sources) {
            try (Stream<Path> all = Files.walk(root)) {
                Path found = all.filter(file -> file.endsWith(name)).findFirst().orElse(null);
                if (found != null) {
                    return found;
                }
            }
        }
        throw new AssertionError("no " + name + " in " + sources);
    }

    @Override
    public String toString() {
        return name;
    }
}
