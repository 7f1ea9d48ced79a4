// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import picocli.CommandLine.Command;

/** Files on a server. */
@Command(
        name = "nfs",
        description = "Lists and copies files of an NFSv3 server over RDMA.",
        subcommands = {NfsListCommand.class, NfsGetCommand.class, NfsPutCommand.class},
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND")
final class NfsCommand {}
