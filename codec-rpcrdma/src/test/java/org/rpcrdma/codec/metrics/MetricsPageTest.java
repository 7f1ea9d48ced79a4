// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Tag;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * docs/metrics.md says what the code has. To write its table again: run this with {@code
 * -Dorg.rpcrdma.writeMetricsPage=true}.
 */
class MetricsPageTest {

    private static final String BEGIN = "<!-- the list, written by MetricsPageTest -->\n";
    private static final String END = "<!-- end of the list -->\n";

    private static final int COLUMNS = 118;

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

    private static String list() {
        StringBuilder out = new StringBuilder();
        list(out, RpcRdmaMeters.TABLE);
        list(out, RdmaMeters.TABLE);
        return out.append('\n').toString();
    }

    private static void list(StringBuilder out, MeterTable<?> table) {
        MeterTable.Family last = null;
        for (MeterTable.Row<?> row : table.rows()) {
            if (row.family() != last) {
                last = row.family();
                head(out, last);
            }
            String tags =
                    row.tags().stream()
                            .map(MetricsPageTest::cell)
                            .collect(Collectors.joining("; "));
            out.append("| ").append(tags);
            out.append(" | ").append(row.client());
            out.append(" | ").append(row.server()).append(" |\n");
        }
    }

    private static void head(StringBuilder out, MeterTable.Family family) {
        String kind = family.kind().name().toLowerCase(Locale.ROOT);
        String unit = family.unit() == null ? "" : " in " + family.unit();
        out.append("\n### `").append(family.name()).append("`\n");
        int column = COLUMNS;
        for (String word :
                ("A " + kind + unit + ". " + family.description() + '.').split(" ", -1)) {
            column += 1 + word.length();
            out.append(column > COLUMNS ? '\n' : ' ').append(word);
            column = column > COLUMNS ? word.length() : column;
        }
        out.append("\n\n| tags | Linux client | Linux server |\n| --- | --- | --- |\n");
    }

    private static String cell(Tag tag) {
        return '`' + tag.getKey() + "`: " + tag.getValue();
    }
}
