// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.site;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.geom.Point2D;
import java.awt.geom.Rectangle2D;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The pictures of the documents are those that their text draws. */
class PicturesTest {

    private static final Path PICTURES = Path.of("../pictures");

    /** Of an arrow: it begins at a point, and bends as cubic Bézier curves say. Frames have another color. */
    private static final Pattern ARROW =
            Pattern.compile("<path d=\"([^\"]*)\" fill=\"none\" style=\"stroke:#181818;");

    private static final Pattern TEXT =
            Pattern.compile(
                    "<text [^>]*font-size=\"(\\d+)\"[^>]* textLength=\"([\\d.]+)\""
                            + " x=\"([\\d.]+)\" y=\"([\\d.]+)\">([^<]*)<");

    private static final Pattern POINT = Pattern.compile("(-?[\\d.]+),(-?[\\d.]+)");

    private static final int STEPS = 50;

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
                        Pattern.compile("(?m)^ *(?:(?:rectangle|frame) \"(.*)\" as|title (.*)$)")
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

    @Test
    void noArrowGoesThroughWords() throws IOException {
        try (Stream<Path> files = Files.list(PICTURES)) {
            for (Path file : files.filter(each -> each.toString().endsWith(".svg")).toList()) {
                String picture = Files.readString(file);
                List<Point2D> points = pointsOfArrows(picture);
                assertThat(points).hasSizeGreaterThan(10 * STEPS);
                assertThat(TEXT.matcher(picture).results().count()).isGreaterThan(10);
                TEXT.matcher(picture)
                        .results()
                        .forEach(
                                text ->
                                        assertThat(points)
                                                .as("%s: %s", file, text.group(5))
                                                .noneMatch(box(text)::contains));
            }
        }
    }

    /** A letter is less high than the size of its font, most of it above the line that it stands on. */
    private static Rectangle2D box(MatchResult text) {
        double size = Double.parseDouble(text.group(1));
        return new Rectangle2D.Double(
                Double.parseDouble(text.group(3)),
                Double.parseDouble(text.group(4)) - 0.8 * size,
                Double.parseDouble(text.group(2)),
                size);
    }

    private static List<Point2D> pointsOfArrows(String picture) {
        List<Point2D> points = new ArrayList<>();
        ARROW.matcher(picture)
                .results()
                .forEach(
                        arrow -> {
                            List<Point2D> ends =
                                    POINT.matcher(arrow.group(1))
                                            .results()
                                            .map(PicturesTest::point)
                                            .toList();
                            for (int i = 0; i + 3 < ends.size(); i += 3) {
                                addCurve(points, ends.subList(i, i + 4));
                            }
                        });
        return points;
    }

    private static Point2D point(MatchResult point) {
        return new Point2D.Double(
                Double.parseDouble(point.group(1)), Double.parseDouble(point.group(2)));
    }

    private static void addCurve(List<Point2D> points, List<Point2D> ends) {
        for (int step = 0; step <= STEPS; step++) {
            double there = (double) step / STEPS;
            double here = 1 - there;
            double[] weights = {
                here * here * here,
                3 * here * here * there,
                3 * here * there * there,
                there * there * there
            };
            double x = 0;
            double y = 0;
            for (int i = 0; i < weights.length; i++) {
                x += weights[i] * ends.get(i).getX();
                y += weights[i] * ends.get(i).getY();
            }
            points.add(new Point2D.Double(x, y));
        }
    }
}
