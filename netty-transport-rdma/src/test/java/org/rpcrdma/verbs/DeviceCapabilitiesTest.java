// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** That the builder sets what its methods are named for, whatever is added. */
class DeviceCapabilitiesTest {

    private static DeviceCapabilities.Builder set(
            DeviceCapabilities.Builder builder, RecordComponent component) throws Exception {
        Class<?> type = component.getType();
        Object value = type == boolean.class ? (Object) true : (Object) 77;
        return (DeviceCapabilities.Builder)
                builder.getClass().getMethod(component.getName(), type).invoke(builder, value);
    }

    private static List<String> differences(DeviceCapabilities one, DeviceCapabilities other)
            throws Exception {
        List<String> names = new ArrayList<>();
        for (RecordComponent component : DeviceCapabilities.class.getRecordComponents()) {
            Object value = component.getAccessor().invoke(one);
            if (!value.equals(component.getAccessor().invoke(other))) {
                names.add(component.getName());
            }
        }
        return names;
    }

    @Test
    void eachMethodSetsTheValueOfItsName() throws Exception {
        DeviceCapabilities nothing = DeviceCapabilities.builder().build();
        for (RecordComponent component : DeviceCapabilities.class.getRecordComponents()) {
            DeviceCapabilities one = set(DeviceCapabilities.builder(), component).build();
            assertThat(differences(one, nothing)).containsExactly(component.getName());
        }
    }

    @Test
    void aCopyKeepsEveryValue() throws Exception {
        for (RecordComponent component : DeviceCapabilities.class.getRecordComponents()) {
            DeviceCapabilities one = set(DeviceCapabilities.builder(), component).build();
            assertThat(one.toBuilder().build()).isEqualTo(one);
        }
    }
}
