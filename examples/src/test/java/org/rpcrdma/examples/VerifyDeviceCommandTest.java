// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;
import picocli.CommandLine;

class VerifyDeviceCommandTest {

    /** A device that says that it carries a byte of private data more than it does. */
    private record Boastful(VerbsProvider device) implements VerbsProvider {

        @Override
        public String name() {
            return "boastful";
        }

        @Override
        public int priority() {
            return device.priority();
        }

        @Override
        public Throwable unavailabilityCause() {
            return null;
        }

        @Override
        public EventLoopVerbsContext open() throws IOException {
            EventLoopVerbsContext context = device.open();
            DeviceCapabilities can = context.capabilities();
            return (EventLoopVerbsContext)
                    Proxy.newProxyInstance(
                            EventLoopVerbsContext.class.getClassLoader(),
                            new Class<?>[] {EventLoopVerbsContext.class},
                            (proxy, method, arguments) -> {
                                if (method.getName().equals("capabilities")) {
                                    return can.toBuilder()
                                            .maxPrivateData(can.maxPrivateData() + 1)
                                            .remoteInvalidation(false)
                                            .build();
                                }
                                try {
                                    return method.invoke(context, arguments);
                                } catch (InvocationTargetException e) {
                                    throw e.getCause();
                                }
                            });
        }
    }

    @Test
    void theSoftwareRnicDoesAll() {
        StringWriter out = new StringWriter();
        CommandLine command =
                new CommandLine(new VerifyDeviceCommand()).setOut(new PrintWriter(out));
        assertThat(command.execute("--device", "iwarp")).as(out.toString()).isZero();
        assertThat(out.toString())
                .startsWith("iwarp at ")
                .contains("64 bytes there and back: median ", "Writes ", "posted alone")
                .doesNotContain("FAIL")
                .endsWith("18 checks passed, 0 failed, 1 do not apply" + System.lineSeparator());
    }

    @Test
    void whatADevicePromisesAndDoesNotDoIsNamed() throws IOException {
        StringWriter out = new StringWriter();
        boolean isWell =
                VerifyDeviceCommand.verify(
                        new Boastful(Rdma.provider("iwarp")),
                        InetAddress.getLoopbackAddress(),
                        new PrintWriter(out));
        assertThat(isWell).as(out.toString()).isFalse();
        assertThat(out.toString().lines())
                .contains(
                        "-     a peer invalidates a key with its message: the device says that it"
                                + " cannot")
                .anyMatch(
                        line ->
                                line.startsWith(
                                        "FAIL  private data goes with request and answer: "))
                .noneMatch(line -> line.startsWith("64 bytes"))
                .last()
                .isEqualTo("16 checks passed, 1 failed, 2 do not apply");
    }
}
