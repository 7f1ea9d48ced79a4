// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class RemoteKeyMapTest {

    private final RemoteKeyMap<String> map = new RemoteKeyMap<>();

    @Test
    void keysOfTheSameMemoryAreDifferentKeys() {
        map.put(0x1234_5601, "first use");
        map.put(0x1234_5602, "second use");
        assertThat(map.get(0x1234_5601)).isEqualTo("first use");
        assertThat(map.get(0x1234_5602)).isEqualTo("second use");
        assertThat(map.get(0x1234_5603)).isNull();
        assertThat(map.containsKey(0x1234_5602)).isTrue();
        assertThat(map.containsKey(0x1234_5603)).isFalse();
    }

    @Test
    void whatIsRemovedIsGone() {
        map.put(-1, "last");
        map.put(0, "zero");
        assertThat(map.remove(-1)).isEqualTo("last");
        assertThat(map.remove(-1)).isNull();
        assertThat(map.values()).containsExactly("zero");
        assertThat(map.isEmpty()).isFalse();
        assertThat(map).hasToString("RemoteKeyMap(values: 1)");
        map.clear();
        assertThat(map.values()).isEmpty();
        assertThat(map.isEmpty()).isTrue();
    }

    /** Few indices and few keys, so that keys recur. */
    @Property(tries = 200)
    void itIsAMap(@ForAll @Size(max = 64) List<Integer> numbers) {
        RemoteKeyMap<Integer> ours = new RemoteKeyMap<>();
        Map<Integer, Integer> expected = new HashMap<>();
        for (int number : numbers) {
            int key = (number & 0x7) << 29 | (number >>> 3 & 0x3);
            if (number < 0) {
                assertThat(ours.remove(key)).isEqualTo(expected.remove(key));
            } else {
                ours.put(key, number);
                expected.put(key, number);
            }
            assertThat(ours.get(key)).isEqualTo(expected.get(key));
        }
        assertThat(new ArrayList<>(ours.values()))
                .containsExactlyInAnyOrderElementsOf(expected.values());
    }
}
