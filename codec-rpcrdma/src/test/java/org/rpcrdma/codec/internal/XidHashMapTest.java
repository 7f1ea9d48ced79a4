// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class XidHashMapTest {

    /** Against the JDK's own map: XIDs that count up across all signs, some of them twice. */
    @Property
    void isAMap(
            @ForAll int first,
            @ForAll @Size(max = 200) List<@IntRange(min = -100, max = 100) Integer> steps) {
        XidHashMap<Object> map = new XidHashMap<>();
        Map<Integer, Object> model = new HashMap<>();
        for (int step : steps) {
            int xid = first + Math.abs(step) / 2;
            Object value = new Object();
            assertThat(map.containsKey(xid)).isEqualTo(model.containsKey(xid));
            if (step < -50) {
                assertThat(map.remove(xid, value)).isFalse();
                assertThat(map.remove(xid, map.get(xid))).isEqualTo(model.remove(xid) != null);
            } else if (step < 0) {
                assertThat(map.remove(xid)).isSameAs(model.remove(xid));
            } else {
                assertThat(map.put(xid, value)).isSameAs(model.put(xid, value));
            }
            assertThat(map.get(xid)).isSameAs(model.get(xid));
            assertThat(map.size()).isEqualTo(model.size());
            assertThat(map.isEmpty()).isEqualTo(model.isEmpty());
            assertThat(map.values()).containsExactlyInAnyOrderElementsOf(model.values());
        }
        map.clear();
        assertThat(map.isEmpty()).isTrue();
    }
}
