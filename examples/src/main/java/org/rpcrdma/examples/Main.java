// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.util.LinkedHashMap;
import java.util.Map;
import org.rpcrdma.examples.common.Printable;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the launcher. */
@Command(
        name = "rpcrdma",
        description = "RPC-over-RDMA for the JVM, without RDMA hardware.",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND")
public final class Main {

    private static final int FAILURE = 1;
    private static final String VERSION = "rpcrdma 0.1.0-SNAPSHOT";
    private static final String HELP = "help";

    /** By name, in the order in which the help lists them. */
    private static final Map<String, Class<?>> COMMANDS = new LinkedHashMap<>();

    static {
        COMMANDS.put("demo", DemoCommand.class);
        COMMANDS.put("ping", PingCommand.class);
        COMMANDS.put("leases", LeasesCommand.class);
        COMMANDS.put("nfs", NfsCommand.class);
        COMMANDS.put("serve-nfs", ServeNfsCommand.class);
        COMMANDS.put("devices", DevicesCommand.class);
        COMMANDS.put("verify-device", VerifyDeviceCommand.class);
        COMMANDS.put("simulate", SimulateCommand.class);
        COMMANDS.put("top", TopCommand.class);
        COMMANDS.put(HELP, CommandLine.HelpCommand.class);
    }

    private Main() {}

    public static void main(String[] args) {
        System.exit(run(args));
    }

    /** @return the exit status: 0 on success, 1 on a failure, 2 on wrong usage; one line on standard error says why */
    static int run(String... args) {
        return commandLine(args).execute(args);
    }

    /**
     * For these arguments. Where the first one is a command, the others are not there: to find the options of all of
     * them takes longer than a short command.
     */
    static CommandLine commandLine(String... args) {
        CommandLine main = new CommandLine(new Main());
        String first = args.length == 0 ? HELP : args[0];
        if (COMMANDS.containsKey(first) && !first.equals(HELP)) {
            main.addSubcommand(first, COMMANDS.get(first));
        } else {
            COMMANDS.forEach(main::addSubcommand);
        }
        nameVersion(main);
        return main.setParameterExceptionHandler(Main::reportUsage)
                .setExecutionExceptionHandler(
                        (failure, command, parsed) -> report(failure, command));
    }

    /** Of each command and its subcommands: all are of one version. */
    private static void nameVersion(CommandLine command) {
        command.getCommandSpec().version(VERSION);
        command.getSubcommands().values().forEach(Main::nameVersion);
    }

    private static int reportUsage(CommandLine.ParameterException failure, String[] args) {
        CommandLine command = failure.getCommandLine();
        command.getErr()
                .println(
                        command.getCommandSpec().qualifiedName()
                                + ": "
                                + Printable.of(oneLine(usageProblem(failure)))
                                + " (see: "
                                + command.getCommandSpec().qualifiedName()
                                + " --help)");
        return CommandLine.ExitCode.USAGE;
    }

    private static String usageProblem(CommandLine.ParameterException failure) {
        CommandLine command = failure.getCommandLine();
        if (command.getSubcommands().isEmpty()) {
            return failure.getMessage();
        }
        String commands = String.join(", ", command.getSubcommands().keySet());
        if (failure instanceof CommandLine.UnmatchedArgumentException unmatched
                && !unmatched.isUnknownOption()) {
            return "there is no command " + unmatched.getUnmatched().get(0) + ", but " + commands;
        }
        return failure.getMessage().startsWith("Missing required subcommand")
                ? "a command is missing: " + commands
                : failure.getMessage();
    }

    private static int report(Exception failure, CommandLine command) {
        command.getErr()
                .println(
                        command.getCommandSpec().qualifiedName()
                                + ": "
                                + Printable.of(oneLine(FailureText.of(failure))));
        if (Boolean.getBoolean(Verbosity.PROPERTY)) {
            failure.printStackTrace(command.getErr());
        }
        return FAILURE;
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\s*\\R\\s*", " ");
    }
}
