// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.netty.channel.ChannelHandler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.VersionTwoConfig;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.metrics.RdmaMeterBinder;
import org.rpcrdma.codec.metrics.RpcRdmaMeterBinder;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.iwarp.IwarpConfig;

/** What users have in their hands says what it is when it is printed. */
class ToStringTest {

    private static final Path HOME =
            Path.of(System.getProperty("basedir", ".")).toAbsolutePath().normalize().getParent();

    /** Used once, where they are made; and a place in a message, which names no message. */
    private static final Set<Class<?>> SILENT =
            Set.of(RdmaMeterBinder.class, RpcRdmaMeterBinder.class, XdrCursor.class);

    @Test
    void typesOfUsersHaveOne() {
        assertThat(
                        new ClassFileImporter()
                                        .withImportOption(
                                                ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                                        .withImportOption(
                                                location -> !location.contains("test-support"))
                                        .importPackages("org.rpcrdma")
                                        .stream()
                                        .filter(ToStringTest::isOfUsers)
                                        .filter(type -> !saysWhatItIs(type)))
                .isEmpty();
    }

    /** Builders print what they build; handlers have names in their pipelines; a binding is its class. */
    private static boolean isOfUsers(JavaClass type) {
        return type.getModifiers().contains(JavaModifier.PUBLIC)
                && !type.getModifiers().contains(JavaModifier.ABSTRACT)
                && !type.isInterface()
                && !type.isEnum()
                && !type.isRecord()
                && !type.isAssignableTo(Throwable.class)
                && !type.getSimpleName().equals("Builder")
                // What one package opens to another is of no use to users.
                && !type.getName().contains(".Internal")
                && !type.isAssignableTo(ChannelHandler.class)
                && !type.isAssignableTo(UpperLayerBinding.class)
                && SILENT.stream().noneMatch(type::isEquivalentTo)
                && hasInstances(type)
                && !isInternal(type.getPackageName());
    }

    private static boolean hasInstances(JavaClass type) {
        return type.getMethods().stream()
                .anyMatch(method -> !method.getModifiers().contains(JavaModifier.STATIC));
    }

    private static boolean isInternal(String name) {
        String path = "src/main/java/" + name.replace('.', '/') + "/package-info.java";
        try {
            for (String module : List.of("netty-transport-rdma", "codec-rpcrdma")) {
                Path description = HOME.resolve(module).resolve(path);
                if (Files.exists(description)) {
                    return Files.readString(description).contains("<p>Internal");
                }
            }
            throw new AssertionError("no description of " + name);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean saysWhatItIs(JavaClass type) {
        return type.getAllMethods().stream()
                .anyMatch(
                        method ->
                                method.getName().equals("toString")
                                        && method.getRawParameterTypes().isEmpty()
                                        && !method.getOwner().isEquivalentTo(Object.class));
    }

    @Test
    void valuesSayWhatWasChosen() {
        assertThat(CallOptions.DEFAULT)
                .hasToString(
                        "CallOptions(the time-out of the client, retransmitted, repeated"
                                + " IF_IDEMPOTENT)");
        assertThat(VersionTwoConfig.defaults())
                .hasToString(
                        "VersionTwoConfig(answered within 2000 ms, remembered for 600000 ms, 0"
                                + " optional operations)");
        assertThat(BindingRegistry.of(List.of())).hasToString("BindingRegistry()");
        assertThat(BindingRegistry.standard().toString())
                .startsWith("BindingRegistry(")
                .contains("Nfs3Binding 100003, ");
        assertThat(new DirectMemoryBudget(7)).hasToString("DirectMemoryBudget(0 of 7 bytes)");
        assertThat(IwarpConfig.builder().peerToPeer(false).sharedMemory(false).build())
                .asString()
                .startsWith("IwarpConfig(MPA revision 2, CRC ACCEPT, start-up within PT10S")
                .endsWith("drains for PT2S)");
    }

    @Test
    void configurationsOfChannelsSayTheirSizes() {
        assertThat(new RdmaChannel().config())
                .hasToString(
                        "RdmaChannelConfig(80 receives of 4096 bytes, 256 sends of up to 4096"
                            + " bytes, 128 Reads, EXACT, 0 bytes of private data, drains for 2000"
                            + " ms, SO_KEEPALIVE 60 s)");
        assertThat(new RdmaServerChannel().config())
                .hasToString("RdmaServerChannelConfig(backlog 128)");
        assertThat(new RdmaStreamChannel().config())
                .hasToString(
                        "RdmaStreamChannelConfig(SO_RCVBUF 516096, SO_SNDBUF 262144, 256 receives,"
                            + " 256 sends, SO_LINGER -1 s, drains for 2000 ms, SO_KEEPALIVE 60 s)");
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        assertThat(group.toString()).startsWith("RdmaEventLoopGroup(1 loops, 0 channels, 0 of ");
        group.shutdownGracefully(0, 60, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
