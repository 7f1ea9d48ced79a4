// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.hardware.CmEvent;
import org.rpcrdma.verbs.hardware.CmEventHandler;

/** What is told of an object that is destroyed does not reach the one that has got its place in memory. */
class ReusedAddressTest {

    private static final long QUEUE_PAIR = 4711;
    private static final int QP_FATAL = 1;

    private final List<String> told = new ArrayList<>();

    private boolean hasEvent = true;
    private FfmCmId second;
    private FfmEventLoopDevice device;

    private final class Handler implements CmEventHandler {
        private final String name;

        Handler(String name) {
            this.name = name;
        }

        @Override
        public void happened(CmEvent event) {
            told.add(name + " " + event.type());
        }

        @Override
        public void broken(String what) {
            told.add(name + " " + what);
        }
    }

    /** The event queues of both would be there; identity is all that is compared. */
    @Test
    void aFailedConnectIsToldToItsOwnIdentifierAlone() {
        CmEventDispatcher dispatcher = new CmEventDispatcher(null, null);
        FfmCmId first = new FfmCmId(null, 42, false);
        FfmCmId next = new FfmCmId(null, 42, false);
        dispatcher.target(first, new Handler("first"));
        dispatcher.connectFailed(first, Errno.ECONNREFUSED);
        dispatcher.target(next, new Handler("next"));
        dispatcher.connectFailed(first, Errno.ECONNREFUSED);
        assertThat(told).containsExactly("first REJECTED");
    }

    @Test
    void aBrokenQueuePairIsToldToItsOwnIdentifierAlone() {
        CmEventDispatcher dispatcher = new CmEventDispatcher(null, null);
        FfmCmId first = new FfmCmId(null, 42, false);
        FfmCmId next = new FfmCmId(null, 42, false);
        dispatcher.target(first, new Handler("first"));
        dispatcher.broken(first, "breaks");
        dispatcher.target(next, new Handler("next"));
        dispatcher.broken(first, "breaks");
        assertThat(told).containsExactly("first breaks");
    }

    /** Only the acknowledgement lets another event loop destroy the queue pair, and make one in its place. */
    @Test
    void theOwnerIsFoundBeforeAnEventIsAcknowledged() throws Exception {
        device =
                new FfmEventLoopDevice(new FfmConfig(null, 1024, 0, 2000, false), this::newLibrary);
        FfmCmId first = (FfmCmId) device.newId();
        second = (FfmCmId) device.newId();
        try {
            first.target(new Handler("first"));
            second.target(new Handler("second"));
            AsyncEventRouter.add(QUEUE_PAIR, first.breakage());
            device.deliverEvents(Integer.MAX_VALUE);
            device.deliverEvents(Integer.MAX_VALUE);
            assertThat(told).containsExactly("first IBV_EVENT_QP_FATAL");
        } finally {
            AsyncEventRouter.remove(QUEUE_PAIR);
            first.destroy();
            second.destroy();
            device.close();
        }
    }

    /** A library that has one event of a device. */
    private NativeFunctions newLibrary() {
        NativeFunctions real = new SoftwareLibrary(SoftwareKernel.Kind.ROCE, false);
        return (NativeFunctions)
                Proxy.newProxyInstance(
                        ReusedAddressTest.class.getClassLoader(),
                        new Class<?>[] {NativeFunctions.class},
                        (self, called, arguments) -> {
                            if (called.getName().equals("getAsyncEvent") && hasEvent) {
                                hasEvent = false;
                                long at = (long) arguments[1];
                                CMemory.putInt(at + StructLayouts.ASYNC_TYPE, QP_FATAL);
                                CMemory.putLong(at + StructLayouts.ASYNC_ELEMENT, QUEUE_PAIR);
                                return 0;
                            }
                            if (called.getName().equals("ackAsyncEvent")) {
                                AsyncEventRouter.remove(QUEUE_PAIR);
                                AsyncEventRouter.add(QUEUE_PAIR, second.breakage());
                            }
                            try {
                                return called.invoke(real, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
    }
}
