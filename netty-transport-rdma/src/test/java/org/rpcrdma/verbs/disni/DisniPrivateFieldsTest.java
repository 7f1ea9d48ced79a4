// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.verbs.impl.NatCmaIdPrivate;
import com.ibm.disni.verbs.impl.NatRdmaEventChannel;
import com.ibm.disni.verbs.impl.NativeDispatcher;
import com.ibm.disni.verbs.impl.RdmaProviderNat;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

/** The private side of DiSNI 2.1 is as it is expected to be, as far as that shows without its native part. */
class DisniPrivateFieldsTest {

    @BeforeAll
    static void letObjectsBeMade() {
        SoftwareRdmaProvider.install();
    }

    @Test
    void anIdentifierIsFoundUntilItIsForgotten() throws Exception {
        NatRdmaEventChannel channel = new NatRdmaEventChannel(1, 0);
        DisniPrivateFields.makeThreadSafe(channel);
        NatCmaIdPrivate id = new NatCmaIdPrivate(77, channel, null);
        channel.addCmId(id);
        assertThat(channel.getCmId(77)).isSameAs(id);
        DisniPrivateFields.forget(channel, id);
        assertThat(channel.getCmId(77)).isNotSameAs(id);
    }

    /** DiSNI asks the listener of a request for its device, and loses the request when that fails. */
    @Test
    void aListenerThatIsForgottenAnswersForItsDeviceAllTheSame() throws Exception {
        NatRdmaEventChannel channel = new NatRdmaEventChannel(1, 0);
        DisniPrivateFields.makeThreadSafe(channel);
        assertThat(channel.getCmId(78).getVerbs()).isNull();
    }

    @Test
    void theMapOfIdentifiersIsSafeForThreads() throws Exception {
        NatRdmaEventChannel channel = new NatRdmaEventChannel(1, 0);
        DisniPrivateFields.makeThreadSafe(channel);
        var field = NatRdmaEventChannel.class.getDeclaredField("idMap");
        field.setAccessible(true);
        Class<?> map = field.get(channel).getClass();
        for (var method :
                new Method[] {
                    map.getMethod("get", Object.class),
                    map.getMethod("put", Object.class, Object.class),
                    map.getMethod("remove", Object.class)
                }) {
            assertThat(Modifier.isSynchronized(method.getModifiers()) || method.isBridge())
                    .as(method.toString())
                    .isTrue();
        }
    }

    @Test
    void theCallsAreWhereTheyAreLookedFor() throws Exception {
        assertThat(RdmaProviderNat.class.getDeclaredField("nativeDispatcher").getType())
                .isSameAs(NativeDispatcher.class);
    }
}
