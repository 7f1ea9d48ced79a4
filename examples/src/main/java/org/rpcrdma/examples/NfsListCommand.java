// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsAttributes;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.client.NfsStatusException;
import org.rpcrdma.examples.common.Printable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows a directory, or a file. */
@Command(
        name = "ls",
        description = "Lists a directory, in the order of the server.",
        mixinStandardHelpOptions = true)
final class NfsListCommand implements Callable<Integer> {

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm", Locale.ROOT)
                    .withZone(ZoneId.systemDefault());

    @Mixin private NfsConnection connection;
    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "URL",
            converter = NfsUrl.Converter.class,
            description = "nfs://HOST:PORT/PATH, where PATH starts with an exported path.")
    private NfsUrl url;

    @Override
    public Integer call() throws IOException {
        connection.run(url, this::list);
        return 0;
    }

    private void list(NfsSession session) throws IOException {
        Nfs3Client.Found found = session.find(url.path());
        PrintWriter out = spec.commandLine().getOut();
        if (found.attributes().type() == NfsAttributes.Type.DIRECTORY) {
            session.nfs()
                    .list(
                            found.handle(),
                            url.path(),
                            entry -> out.println(line(session.nfs(), entry)));
        } else {
            out.println(
                    line(
                            session.nfs(),
                            new Nfs3Client.Entry(
                                    url.name(),
                                    found.attributes().fileId(),
                                    found.attributes(),
                                    found.handle())));
        }
        out.flush();
    }

    private static String line(Nfs3Client nfs, Nfs3Client.Entry entry) throws IOException {
        NfsAttributes file = entry.attributes();
        boolean isLink = file.type() == NfsAttributes.Type.SYMBOLIC_LINK;
        String target = isLink && entry.handle() != null ? " -> " + target(nfs, entry) : "";
        return String.format(
                Locale.ROOT,
                "%s %3d %5d %5d %12d %s %s",
                file.modeText(),
                file.links(),
                file.uid(),
                file.gid(),
                file.size(),
                TIME.format(file.modified()),
                Printable.of(entry.name() + target));
    }

    /** A link may be gone by now. */
    private static String target(Nfs3Client nfs, Nfs3Client.Entry link) throws IOException {
        try {
            return nfs.readLink(link.handle(), link.name());
        } catch (NfsStatusException e) {
            return "?";
        }
    }
}
