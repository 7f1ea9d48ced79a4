// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.VerbsProvider;

/** Provider of devices whose calls a test sees, answers itself or fails. */
public final class InterceptedDevice implements VerbsProvider {

    /** Called in the place of each method of a context or of a queue pair. */
    @FunctionalInterface
    public interface Interceptor {
        Object call(Call call) throws Throwable;
    }

    /** A call that is intercepted. */
    public static final class Call {
        private final Object target;
        private final Method method;
        private final Object[] arguments;

        private Call(Object target, Method method, Object[] arguments) {
            this.target = target;
            this.method = method;
            this.arguments = arguments;
        }

        public String name() {
            return method.getName();
        }

        public Object argument(int index) {
            return arguments[index];
        }

        /** Calls the device, with another last argument. */
        public Object proceedWith(Object last) throws Throwable {
            arguments[arguments.length - 1] = last;
            return proceed();
        }

        /** The last argument. */
        public Object last() {
            return arguments[arguments.length - 1];
        }

        /** Calls the device. */
        public Object proceed() throws Throwable {
            try {
                return method.invoke(target, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }
    }

    private final Supplier<VerbsProvider> device;
    private final Interceptor interceptor;

    private InterceptedDevice(Supplier<VerbsProvider> device, Interceptor interceptor) {
        this.device = device;
        this.interceptor = interceptor;
    }

    /** The provider of the tests, with the calls of its contexts intercepted. */
    public static VerbsProvider of(Interceptor interceptor) {
        return new InterceptedDevice(Rdma::provider, interceptor);
    }

    public static VerbsProvider of(VerbsProvider device, Interceptor interceptor) {
        return new InterceptedDevice(() -> device, interceptor);
    }

    /** A device that reads no message while its user is without memory for one. */
    public static VerbsProvider withoutReceiveMemory(
            VerbsProvider device, BooleanSupplier isWithout) {
        return of(
                device,
                call ->
                        call.name().equals("createQueuePair")
                                ? call.proceedWith(
                                        withoutReceiveMemory(
                                                (QueuePairHandler) call.last(), isWithout))
                                : call.proceed());
    }

    private static QueuePairHandler withoutReceiveMemory(
            QueuePairHandler handler, BooleanSupplier isWithout) {
        return intercepted(
                QueuePairHandler.class,
                handler,
                call ->
                        isWithout.getAsBoolean() && call.name().equals("receiveMemory")
                                ? null
                                : call.proceed());
    }

    public static <T> T intercepted(Class<T> type, T target, Interceptor interceptor) {
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) ->
                                interceptor.call(new Call(target, method, arguments))));
    }

    @Override
    public String name() {
        return "intercepted";
    }

    @Override
    public int priority() {
        return 0;
    }

    @Override
    public Throwable unavailabilityCause() {
        return null;
    }

    @Override
    public EventLoopVerbsContext open() throws IOException {
        return intercepted(EventLoopVerbsContext.class, device.get().open(), interceptor);
    }
}
