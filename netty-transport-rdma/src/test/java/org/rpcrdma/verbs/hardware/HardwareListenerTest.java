// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.ListenerHandler;

/** A request that is lost for lack of heap memory keeps neither its identifier nor its place in the backlog. */
class HardwareListenerTest {

    private static final InetSocketAddress ADDRESS = new InetSocketAddress(20049);
    private final Error noMemory = new OutOfMemoryError("no heap");

    private final List<String> calls = new ArrayList<>();
    private final List<ConnectionRequest> heard = new ArrayList<>();
    private String failing = "";

    private NativeCmId id(String name) {
        return fake(
                NativeCmId.class,
                (proxy, method, arguments) -> {
                    String call = name + " " + method.getName();
                    calls.add(call);
                    if (call.equals(failing)) {
                        throw noMemory;
                    }
                    return method.getReturnType() == InetSocketAddress.class ? ADDRESS : null;
                });
    }

    private static <T> T fake(Class<T> type, InvocationHandler handler) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private HardwareListener listener() throws IOException {
        NativeEventLoopDevice device =
                fake(
                        NativeEventLoopDevice.class,
                        (proxy, method, arguments) ->
                                method.getName().equals("newId") ? id("listener") : arguments[0]);
        return new HardwareListener(device, closed -> {}, ADDRESS, 1, new Handler());
    }

    private static void request(HardwareListener listener, NativeCmId id) {
        listener.happened(CmEvent.of(CmEvent.Type.CONNECT_REQUEST, id));
    }

    @Test
    void aListenerThatCannotBeMadeIsDestroyed() {
        failing = "listener listen";
        assertThatThrownBy(this::listener).isSameAs(noMemory);
        assertThat(calls).contains("listener destroy");
    }

    @Test
    void aRequestThatCannotBeNotedIsDestroyed() throws IOException {
        HardwareListener listener = listener();
        failing = "first target";
        assertThatThrownBy(() -> request(listener, id("first"))).isSameAs(noMemory);
        assertThat(calls).contains("first destroy");
        request(listener, id("second"));
        assertThat(heard).hasSize(1);
    }

    @Test
    void aRequestThatNobodyHearsOfIsRejected() throws IOException {
        HardwareListener listener = listener();
        failing = "handler";
        assertThatThrownBy(() -> request(listener, id("first"))).isSameAs(noMemory);
        assertThat(calls).containsSubsequence("first reject", "first destroy");
        failing = "";
        request(listener, id("second"));
        assertThat(heard).hasSize(1);
    }

    @Test
    void aRequestThatCannotBeRejectedIsDestroyed() throws IOException {
        HardwareListener listener = listener();
        request(listener, id("first"));
        failing = "first reject";
        assertThatThrownBy(() -> heard.get(0).reject(new byte[0])).isSameAs(noMemory);
        assertThat(calls).contains("first destroy");
    }

    private final class Handler implements ListenerHandler {

        @Override
        public void connectionRequested(ConnectionRequest request) {
            if (failing.equals("handler")) {
                throw noMemory;
            }
            heard.add(request);
        }

        @Override
        public void acceptFailed(Throwable cause) {
            throw new AssertionError(cause);
        }
    }
}
