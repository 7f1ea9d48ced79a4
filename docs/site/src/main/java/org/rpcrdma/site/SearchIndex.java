// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.site;

import java.util.Collection;
import java.util.Map;
import java.util.StringJoiner;

/** What the search page looks through: for each section its link, its title, and the words of its text, each once. */
final class SearchIndex {

    private SearchIndex() {}

    /** The index as a script, which works from a file too: a browser fetches no data there. */
    static String of(Collection<Page> pages) {
        StringJoiner entries = new StringJoiner(",\n", "const SECTIONS = [\n", "\n];\n");
        for (Page page : pages) {
            Map<String, String> titles = page.titles();
            page.words()
                    .forEach(
                            (anchor, words) ->
                                    entries.add(
                                            entry(
                                                    page.target() + "#" + anchor,
                                                    title(page, titles.get(anchor)),
                                                    String.join(" ", words))));
        }
        return entries.toString();
    }

    private static String title(Page page, String section) {
        return section.equals(page.title()) ? section : page.title() + " \u00b7 " + section;
    }

    private static String entry(String... values) {
        StringJoiner texts = new StringJoiner(",", "[", "]");
        for (String value : values) {
            texts.add('"' + value.replace("\\", "\\\\").replace("\"", "\\\"") + '"');
        }
        return texts.toString();
    }
}
