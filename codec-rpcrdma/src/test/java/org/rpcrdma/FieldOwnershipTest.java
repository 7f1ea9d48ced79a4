// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaFieldAccess;
import com.tngtech.archunit.core.domain.JavaFieldAccess.AccessType;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * State of a call that several stages see: any class may read a field, only the class that declares it writes it. So
 * each change has a name, and a reset that covers the class covers all.
 */
class FieldOwnershipTest {

    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("org.rpcrdma.codec");

    @ParameterizedTest
    @ValueSource(
            strings = {
                "InboundCall",
                "InboundCallMessage",
                "InboundChunks",
                "OutboundReply",
            })
    void onlyTheOwnerWritesItsFields(String owner) {
        JavaClass type = ALL.get("org.rpcrdma.codec." + owner);
        List<JavaFieldAccess> writes =
                type.getFieldAccessesToSelf().stream()
                        .filter(access -> access.getAccessType() == AccessType.SET)
                        .toList();
        assertThat(writes).isNotEmpty();
        assertThat(writes).allMatch(write -> outermost(write.getOriginOwner()).equals(type));
    }

    private static JavaClass outermost(JavaClass type) {
        return type.getEnclosingClass().map(FieldOwnershipTest::outermost).orElse(type);
    }
}
