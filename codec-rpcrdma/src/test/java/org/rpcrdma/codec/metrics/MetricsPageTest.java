// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Tag;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * docs/metrics.md says what the code has. To write its table again: run this with {@code
 * -Dorg.rpcrdma.writeMetricsPage=true}.
 */
class MetricsPageTest {

    private static final String BEGIN = "<!-- the list, written by MetricsPageTest -->\n";
    private static final String END = "<!-- end of the list -->\n";

    private final Path page =
            Path.of(System.getProperty("basedir")).resolveSibling("docs").resolve("metrics.md");

    @Test
    void thePageListsEveryMeter() throws IOException {
        String text = Files.readString(page);
        int begin = text.indexOf(BEGIN) + BEGIN.length();
        int end = text.indexOf(END);
        if (Boolean.getBoolean("org.rpcrdma.writeMetricsPage")) {
            Files.writeString(page, text.substring(0, begin) + list() + text.substring(end));
        } else {
            assertThat(text.substring(begin, end))
                    .as(
                            "%s: the list (written again with -Dorg.rpcrdma.writeMetricsPage=true)",
                            page)
                    .isEqualTo(list());
        }
    }

    /** A description is the HELP text of a scrape, and is read there without the table around it. */
    @Test
    void everyDescriptionIsASentenceWithTheVerbOfItsKind() {
        Stream.of(RpcRdmaMeterTable.TABLE, EventLoopGroupMeterTable.TABLE)
                .flatMap(table -> table.rows().stream())
                .map(MeterTable.Row::family)
                .distinct()
                .forEach(
                        family ->
                                assertThat(family.description())
                                        .as(family.name())
                                        .matches(verbOf(family) + " .*[^.]\\."));
    }

    private static String verbOf(MeterTable.Family family) {
        return switch (family.kind()) {
            case COUNTER -> MeterTable.SECONDS.equals(family.unit()) ? "Measures" : "Counts";
            case GAUGE, GREATEST_GAUGE, JVM_GAUGE -> "Shows";
            case TIMER -> "Measures";
        };
    }

    private static String list() {
        StringBuilder out = new StringBuilder();
        list(out, "Of RPC-over-RDMA", RpcRdmaMeterTable.TABLE);
        list(out, "Of event loops, memory and devices", EventLoopGroupMeterTable.TABLE);
        return out.append('\n').toString();
    }

    private static void list(StringBuilder out, String heading, MeterTable<?> table) {
        out.append("\n### ").append(heading).append("\n\n");
        out.append("| Meter | Kind and unit | Tags | What | Linux client | Linux server |\n");
        out.append("| --- | --- | --- | --- | --- | --- |\n");
        Map<MeterTable.Family, List<MeterTable.Row<?>>> families = new LinkedHashMap<>();
        for (MeterTable.Row<?> row : table.rows()) {
            families.computeIfAbsent(row.family(), family -> new ArrayList<>()).add(row);
        }
        families.forEach((family, rows) -> line(out, family, rows));
    }

    private static void line(
            StringBuilder out, MeterTable.Family family, List<MeterTable.Row<?>> rows) {
        String kind = family.kind().name().toLowerCase(Locale.ROOT);
        out.append("| `").append(family.name()).append("` | ").append(kind);
        out.append(family.unit() == null ? "" : ", " + family.unit());
        out.append(" | ").append(tags(rows));
        out.append(" | ").append(family.description());
        out.append(" | ").append(nearest(rows, MeterTable.Row::client));
        out.append(" | ").append(nearest(rows, MeterTable.Row::server)).append(" |\n");
    }

    private static String tags(List<MeterTable.Row<?>> rows) {
        Map<String, Set<String>> values = new LinkedHashMap<>();
        for (MeterTable.Row<?> row : rows) {
            row.tags()
                    .forEach(
                            tag ->
                                    values.computeIfAbsent(tag.getKey(), k -> new LinkedHashSet<>())
                                            .add(tag.getValue()));
        }
        List<String> texts = new ArrayList<>();
        values.forEach((key, all) -> texts.add('`' + key + "`: " + String.join(", ", all)));
        return String.join("; ", texts);
    }

    /** What Linux has, each with the tags that it is for; a client has no other role than the requester's. */
    private static String nearest(
            List<MeterTable.Row<?>> rows, Function<MeterTable.Row<?>, String> column) {
        List<String> texts = new ArrayList<>();
        for (MeterTable.Row<?> row : rows) {
            String field = column.apply(row);
            String of =
                    row.tags().stream()
                            .filter(tag -> rows.size() > 1 && !tag.getKey().equals("role"))
                            .filter(tag -> !tag.getValue().contains(","))
                            .map(Tag::getValue)
                            .collect(Collectors.joining(", "));
            if (!field.isEmpty()) {
                texts.add(of.isEmpty() ? field : of + " is " + field);
            }
        }
        return String.join("; ", texts);
    }
}
