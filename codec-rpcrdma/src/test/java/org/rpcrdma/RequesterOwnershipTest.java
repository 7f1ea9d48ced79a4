// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaFieldAccess;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** State of the requester has one owner each: others ask and tell, and never write a field. */
class RequesterOwnershipTest {

    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("org.rpcrdma.codec");

    @ParameterizedTest
    @ValueSource(
            strings = {
                "OutboundCall",
                "OutboundCallRequest",
                "AdvertisedChunks",
                "InboundReply",
                "OutboundPayload",
                "Procedure",
                "WriteChunkSinks",
                "ExposedMemory",
                "OutboundReducedItems",
                "RequesterState",
                "RequesterCredits",
                "OutboundCallSizes",
                "OutboundCallChunkPlanner",
                "OutboundCallEncoder",
                "InboundReplyReceiver",
                "InboundErrorReceiver",
                "InboundReplyAssembler",
                "FlushConsolidation",
                "FlushConsolidationStage",
                "InboundReadListPull",
                "ReadChunkPulls"
            })
    void nobodyButTheOwnerWritesFields(String name) {
        JavaClass owner = ALL.get("org.rpcrdma.codec." + name);
        Stream<String> writtenElsewhere =
                owner.getFieldAccessesToSelf().stream()
                        .filter(access -> access.getAccessType() == JavaFieldAccess.AccessType.SET)
                        .filter(access -> !access.getOriginOwner().equals(owner))
                        .map(JavaFieldAccess::getDescription);
        assertThat(writtenElsewhere).isEmpty();
        List<JavaField> open =
                owner.getFields().stream()
                        .filter(field -> !field.getModifiers().contains(JavaModifier.PRIVATE))
                        .filter(field -> !field.getModifiers().contains(JavaModifier.FINAL))
                        .toList();
        assertThat(open).isEmpty();
    }
}
