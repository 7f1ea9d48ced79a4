// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;

/** The arrows of this module: codec → channel, and nothing back. The codec knows channel messages, never verbs. */
class LayeringTest {
    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("org.rpcrdma");
    private static final String CODEC = "org.rpcrdma.codec..";
    private static final String BINDING = "org.rpcrdma.codec.binding..";
    private static final String WIRE = "org.rpcrdma.codec.wire..";
    private static final String RPC = "org.rpcrdma.codec.rpc..";
    private static final String RPCBIND = "org.rpcrdma.codec.rpcbind..";
    private static final String CLIENT = "org.rpcrdma.codec.client..";
    private static final String CAPTURE = "org.rpcrdma.codec.capture..";
    private static final String ACCESS = "org.rpcrdma.codec.access..";
    private static final String INTERNAL = "org.rpcrdma.codec.internal..";
    private static final String[] STAGE_NAMES = {
        "FlushSchedulingHandler",
        "TransportHeaderHandler",
        "CreditHandler",
        "OptionalOperationDispatcher",
        "LongMessageHandler",
        "DdpReductionHandler",
        "VersionTwoProbeHandler"
    };
    private static final String[] REQUESTER_NAMES = {
        "RequesterState",
        "RequesterCredits",
        "OutboundCallState",
        "OutboundCallRequest",
        "OutboundCallChunks",
        "InboundReplyState",
        "OutboundCallChunkPlanner",
        "OutboundCallAndReplyRoomCalculator",
        "OutboundCallEncoder",
        "WriteChunkSinks",
        "InboundReplyReceiver",
        "InboundErrorReceiver",
        "RequesterLongReplyReceiver",
        "InboundReplyAssembler"
    };
    private static final String[] RESPONDER_NAMES = {
        "ResponderState",
        "ResponderCredits",
        "InboundCallState",
        "InboundCallPayload",
        "ResponderLongMessages",
        "InboundCallChunks",
        "OutboundReplyState",
        "InboundCallDdpEligibilityValidator",
        "OutboundReplyChunkPlanner",
        "OutboundReplyRdmaWriter",
        "OutboundReadChunkReplyExposer",
        "CloseOnFailureReplyPromise",
        "OutboundRepliesAwaitingPullCompletion",
        "ExposedReadChunkReply",
        "CreditGrantAndReceiveController",
        "DuplicateRequestCacheAccess"
    };

    private static final DescribedPredicate<JavaClass> STAGES = areAnyOf(STAGE_NAMES);
    private static final DescribedPredicate<JavaClass> REQUESTER = areAnyOf(REQUESTER_NAMES);
    private static final DescribedPredicate<JavaClass> RESPONDER = areAnyOf(RESPONDER_NAMES);
    private static final String METRICS = "org.rpcrdma.codec.metrics..";

    @Test
    void theCodecNeverUsesVerbs() {
        noClasses()
                .that()
                .resideInAPackage(CODEC)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.rpcrdma.verbs..")
                .check(ALL);
    }

    @Test
    void theTransportDoesNotKnowTheCodec() {
        noClasses()
                .that()
                .resideInAnyPackage("org.rpcrdma.channel..", "org.rpcrdma.verbs..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(CODEC)
                .check(ALL);
    }

    @Test
    void bindingsKnowMessagesNotConnections() {
        noClasses()
                .that()
                .resideInAPackage(BINDING)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.rpcrdma.channel..", METRICS)
                .check(ALL);
    }

    @Test
    void onlyTheBindersNeedMicrometer() {
        noClasses()
                .that()
                .resideInAPackage(CODEC)
                .and()
                .resideOutsideOfPackage(METRICS)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(METRICS, "io.micrometer..")
                .check(ALL);
    }

    @Test
    void onlyItsBridgeNeedsOncrpc4j() {
        String bridge = "org.rpcrdma.codec.oncrpc4j..";
        noClasses()
                .that()
                .resideOutsideOfPackage(bridge)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(bridge, "org.dcache..", "org.glassfish..")
                .check(ALL);
    }

    @Test
    void theWireKnowsBytesOnly() {
        noClasses()
                .that()
                .resideInAPackage(WIRE)
                .should()
                .dependOnClassesThat(
                        resideInAPackage("org.rpcrdma..")
                                .and(resideOutsideOfPackage(WIRE))
                                .and(not(type(ItemInChunkPredicate.class))))
                .orShould()
                .dependOnClassesThat()
                .resideInAPackage("io.netty.channel..")
                .check(ALL);
    }

    /** What has to do with calls from here, and what has to do with calls of the peer, are two worlds. */
    @Test
    void requesterAndResponderDoNotKnowEachOther() {
        noClasses().that(REQUESTER).should().dependOnClassesThat(RESPONDER).check(ALL);
        noClasses().that(RESPONDER).should().dependOnClassesThat(REQUESTER).check(ALL);
    }

    @Test
    void whatIsPulledHasNoRole() {
        noClasses()
                .that(
                        areAnyOf(
                                "CallOrReplyReadListPull",
                                "InboundPullMemoryBudget",
                                "ConnectionSharedState",
                                "OutboundPayloadStreamWithItems",
                                "UpperLayerBindingInvoker",
                                "SendEncoder"))
                .should()
                .dependOnClassesThat(REQUESTER.or(RESPONDER))
                .check(ALL);
    }

    @Test
    void aLinkKnowsNoneOfThoseWhoStandOnIt() {
        noClasses()
                .that(areAnyOf("ConnectionSharedState"))
                .should()
                .dependOnClassesThat(
                        REQUESTER
                                .or(RESPONDER)
                                .or(STAGES)
                                .or(
                                        areAnyOf(
                                                "CallOrReplyReadListPull",
                                                "InboundPullMemoryBudget",
                                                "RpcRdmaConnection")))
                .check(ALL);
    }

    /**
     * Stages take messages from one side and give them to the other; they are named where the pipeline is
     * put together.
     */
    @Test
    void nobodyCallsAStage() {
        for (String stage : STAGE_NAMES) {
            noClasses()
                    .that(not(areAnyOf("RpcRdmaCodec", stage)))
                    .should()
                    .dependOnClassesThat(areAnyOf(stage))
                    .check(ALL);
        }
    }

    /** Of the codec it knows the messages that both read and write, and no connection. */
    @Test
    void whatIsTypedStandsOnAnyTransport() {
        noClasses()
                .that()
                .resideInAPackage(RPC)
                .should()
                .dependOnClassesThat(
                        resideInAPackage("org.rpcrdma..")
                                .and(resideOutsideOfPackages(RPC, INTERNAL))
                                .and(not(type(RpcMessage.class))))
                .check(ALL);
    }

    @Test
    void theCodecDoesNotKnowProgramsAndProcedures() {
        noClasses()
                .that()
                .resideOutsideOfPackages(RPC, CLIENT, RPCBIND)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(RPC)
                .check(ALL);
    }

    @Test
    void theCodecDoesNotKnowItsClient() {
        noClasses()
                .that()
                .resideOutsideOfPackage(CLIENT)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(CLIENT)
                .check(ALL);
    }

    /** What is package-private in the codec is opened to its client by one class, and to nobody else. */
    @Test
    void onlyTheClientUsesTheAccessorOfTheCodec() {
        noClasses()
                .that()
                .resideOutsideOfPackages(CLIENT, ACCESS)
                .and(not(areAnyOf("DefaultCodecAccess")))
                .should()
                .dependOnClassesThat()
                .haveFullyQualifiedName("org.rpcrdma.codec.access.CodecAccess")
                .check(ALL);
    }

    /** They are found by their names, so that the codec depends on no class that depends on all of it. */
    @Test
    void nobodyNamesWhatIsBehindAnAccessor() {
        for (String opened : Set.of("DefaultCodecAccess", "capture.CaptureHandlerInstaller")) {
            String name = "org.rpcrdma.codec." + opened;
            assertThat(ALL.contain(name)).isTrue();
            noClasses()
                    .that()
                    .doNotHaveFullyQualifiedName(name)
                    .and()
                    .haveNameNotMatching(java.util.regex.Pattern.quote(name) + "\\$.*")
                    .should()
                    .dependOnClassesThat()
                    .haveFullyQualifiedName(name)
                    .check(ALL);
        }
    }

    @Test
    void helpersKnowNobody() {
        noClasses()
                .that()
                .resideInAPackage(INTERNAL)
                .should()
                .dependOnClassesThat(
                        resideInAPackage("org.rpcrdma..").and(resideOutsideOfPackage(INTERNAL)))
                .check(ALL);
    }

    /** Whoever configures the codec names the file, and whoever builds the pipeline installs the handler. */
    @Test
    void onlyWhatInstallsItKnowsTheCapture() {
        noClasses()
                .that()
                .resideOutsideOfPackages(CAPTURE, ACCESS)
                .and(not(areAnyOf("RpcRdmaCodec", "RpcRdmaConfig")))
                .should()
                .dependOnClassesThat()
                .resideInAPackage(CAPTURE)
                .check(ALL);
        noClasses()
                .that()
                .resideInAPackage(CAPTURE)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.rpcrdma.codec", CLIENT)
                .check(ALL);
    }

    private static DescribedPredicate<JavaClass> areAnyOf(String... names) {
        Set<String> all = Set.of(names);
        return DescribedPredicate.describe(
                "are any of " + all,
                type ->
                        type.getPackageName().equals("org.rpcrdma.codec")
                                && all.contains(outermost(type).getSimpleName()));
    }

    private static JavaClass outermost(JavaClass type) {
        return type.getEnclosingClass().map(LayeringTest::outermost).orElse(type);
    }

    /** A rule about a class that is called otherwise now would hold for nothing. */
    @Test
    void allNamesAreThoseOfClasses() {
        Set<String> names =
                ALL.stream()
                        .filter(type -> type.getPackageName().equals("org.rpcrdma.codec"))
                        .map(JavaClass::getSimpleName)
                        .collect(Collectors.toSet());
        assertThat(names).contains(STAGE_NAMES);
        assertThat(names).contains(REQUESTER_NAMES).contains(RESPONDER_NAMES);
        assertThat(names)
                .contains(
                        "ConnectionSharedState",
                        "CallOrReplyReadListPull",
                        "InboundPullMemoryBudget",
                        "OutboundPayloadStreamWithItems",
                        "UpperLayerBindingInvoker",
                        "SendEncoder")
                .contains(
                        "RpcRdmaConnection", "RpcRdmaCodec", "RpcRdmaConfig", "DefaultCodecAccess");
    }
}
