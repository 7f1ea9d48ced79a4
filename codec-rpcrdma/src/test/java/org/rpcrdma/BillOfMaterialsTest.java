// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** The BOM names what is published, each in the version of the build. It has no parent that would see to that. */
class BillOfMaterialsTest {

    private static final Path ROOT =
            Path.of(System.getProperty("basedir", ".")).toAbsolutePath().normalize().getParent();

    @Test
    void namesEveryLibrary() throws Exception {
        List<String> published = new ArrayList<>();
        for (Element module : children(read(ROOT), "modules")) {
            Document pom = read(ROOT.resolve(module.getTextContent()));
            if (!"pom".equals(text(pom.getDocumentElement(), "packaging"))
                    && pom.getElementsByTagName("maven.deploy.skip").getLength() == 0) {
                published.add(text(pom.getDocumentElement(), "artifactId"));
            }
        }
        List<String> named = new ArrayList<>();
        var dependencies = bom().getElementsByTagName("dependency");
        for (int i = 0; i < dependencies.getLength(); i++) {
            Element dependency = (Element) dependencies.item(i);
            assertThat(text(dependency, "version")).isEqualTo("${project.version}");
            named.add(text(dependency, "artifactId"));
        }
        assertThat(named)
                .containsExactlyInAnyOrderElementsOf(published)
                .contains("codec-rpcrdma", "netty-transport-rdma");
    }

    @Test
    void hasTheVersionAndTheHomeOfTheBuild() throws Exception {
        Element build = read(ROOT).getDocumentElement();
        Element bom = bom().getDocumentElement();
        assertThat(text(bom, "groupId")).isEqualTo(text(build, "groupId"));
        assertThat(text(bom, "version")).isEqualTo(text(build, "version"));
        assertThat(bom.getElementsByTagName("project.home").item(0).getTextContent())
                .isEqualTo(build.getElementsByTagName("project.home").item(0).getTextContent());
    }

    private static Document bom() throws Exception {
        return read(ROOT.resolve("codec-rpcrdma/bom"));
    }

    private static Document read(Path module) throws Exception {
        return DocumentBuilderFactory.newDefaultInstance()
                .newDocumentBuilder()
                .parse(existing(module.resolve("pom.xml")).toFile());
    }

    private static Path existing(Path pom) throws IOException {
        assertThat(Files.exists(pom)).as(pom.toString()).isTrue();
        return pom;
    }

    private static List<Element> children(Document pom, String name) {
        List<Element> children = new ArrayList<>();
        Node parent = pom.getElementsByTagName(name).item(0);
        for (Node child = parent.getFirstChild(); child != null; child = child.getNextSibling()) {
            if (child instanceof Element) {
                children.add((Element) child);
            }
        }
        return children;
    }

    /** The text of a child, or nothing. */
    private static String text(Element parent, String name) {
        for (Node child = parent.getFirstChild(); child != null; child = child.getNextSibling()) {
            if (child.getNodeName().equals(name)) {
                return child.getTextContent();
            }
        }
        return "";
    }
}
