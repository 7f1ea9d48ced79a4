// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.client.RpcRdmaClient;

/** Compares docs/configuration.md with the options that the code has, and with their defaults. */
class ConfigurationPageTest {

    private static final Pattern ROW = Pattern.compile("\\| `([\\w.]+)` \\|(.*)\\|");
    private static final Pattern NUMBER = Pattern.compile("(\\d+)( KiB| MiB)?");

    private static final Pattern SECONDS = Pattern.compile("(\\d+) s");

    private static final Pattern LITERAL = Pattern.compile("\"([\\w.]+)\"");

    private final Path page =
            Path.of(System.getProperty("basedir", "."))
                    .resolve("../docs/configuration.md")
                    .normalize();

    @Test
    void listsEveryOptionOfTheCodecWithItsDefault() throws IOException {
        Map<String, String[]> rows = rows("## Codec");

        assertThat(rows.keySet()).isEqualTo(setters(RpcRdmaConfig.Builder.class));
        rows.forEach((option, cells) -> checkField(RpcRdmaConfig.builder(), option, cells[0]));
    }

    @Test
    void listsEveryOptionOfTheClientWithItsDefault() throws IOException {
        Map<String, String[]> rows = rows("## Client");

        assertThat(rows.keySet()).isEqualTo(setters(RpcRdmaClient.Builder.class));
        // Two fields.
        assertThat(rows.remove("backOff")[0]).isEqualTo("100 ms, 10 s");
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            RpcRdmaClient.Builder builder = RpcRdmaClient.builder(group, new InetSocketAddress(0));
            rows.forEach((option, cells) -> checkField(builder, option, cells[0]));
        } finally {
            group.shutdownGracefully(0, 60, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void listsEveryChannelOptionWithItsDefaults() throws IOException {
        Map<String, String[]> rows = rows("## Channels");

        assertThat(rows.keySet())
                .isEqualTo(
                        Arrays.stream(RdmaChannelOption.class.getDeclaredFields())
                                .filter(field -> Modifier.isPublic(field.getModifiers()))
                                .map(Field::getName)
                                .collect(Collectors.toCollection(TreeSet::new)));
        ChannelConfig message = new RdmaChannel().config();
        ChannelConfig stream = new RdmaStreamChannel().config();
        ChannelConfig server = new RdmaServerChannel().config();
        rows.forEach(
                (option, cells) -> {
                    ChannelOption<?> known = ChannelOption.valueOf(RdmaChannelOption.class, option);
                    if (server.getOptions().containsKey(known)) {
                        checkOption(server, option, cells[0]);
                    } else {
                        checkOption(message, option, cells[0]);
                        checkOption(stream, option, cells[1]);
                    }
                });
    }

    @Test
    void namesNoSystemPropertyThatNothingReads() throws IOException {
        Set<String> quoted = new TreeSet<>();
        try (Stream<Path> sources =
                Files.walk(page.resolve("../../netty-transport-rdma/src/main/java").normalize())) {
            for (Path source : sources.filter(file -> file.toString().endsWith(".java")).toList()) {
                Matcher literal = LITERAL.matcher(Files.readString(source));
                while (literal.find()) {
                    quoted.add(literal.group(1));
                }
            }
        }
        Map<String, String[]> rows = rows("## System properties");

        assertThat(rows).containsKey("org.rpcrdma.provider");
        assertThat(rows.keySet())
                .allSatisfy(
                        property ->
                                assertThat(quoted)
                                        .containsAnyOf(
                                                property,
                                                property.substring(property.lastIndexOf('.') + 1)));
    }

    private static void checkOption(ChannelConfig config, String name, String documented) {
        ChannelOption<?> option = ChannelOption.valueOf(RdmaChannelOption.class, name);
        assertThat(config.getOptions().containsKey(option))
                .as("%s of %s", name, config)
                .isEqualTo(!documented.isEmpty());
        if (NUMBER.matcher(documented).matches()) {
            assertThat(config.getOption(option)).as(name).hasToString(value(documented));
        }
    }

    /** Numbers, times in seconds and booleans; other defaults are described in words. */
    private static void checkField(Object builder, String option, String documented) {
        boolean isBoolean = documented.equals("true") || documented.equals("false");
        if (isBoolean || NUMBER.matcher(documented).matches()) {
            assertThat(read(builder, option))
                    .as("default of %s", option)
                    .hasToString(isBoolean ? documented : value(documented));
        }
        Matcher seconds = SECONDS.matcher(documented);
        if (seconds.matches()) {
            assertThat(read(builder, option))
                    .as("default of %s", option)
                    .isEqualTo(Duration.ofSeconds(Long.parseLong(seconds.group(1))));
        }
    }

    private static String value(String documented) {
        Matcher number = NUMBER.matcher(documented);
        assertThat(number.matches()).isTrue();
        long unit =
                number.group(2) == null ? 1 : number.group(2).equals(" KiB") ? 1 << 10 : 1 << 20;
        return Long.toString(Long.parseLong(number.group(1)) * unit);
    }

    /** Fields are named as their setters, or by the verb in the third person: clearSinks, clearsSinks. */
    private static Object read(Object builder, String option) {
        String second = option.replaceFirst("^([a-z]+)", "$1s");
        for (Class<?> type = builder.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(option) || field.getName().equals(second)) {
                    field.setAccessible(true);
                    try {
                        return field.get(builder);
                    } catch (IllegalAccessException e) {
                        throw new AssertionError(e);
                    }
                }
            }
        }
        throw new AssertionError("no field of the option " + option);
    }

    private static Set<String> setters(Class<?> builder) {
        return Arrays.stream(builder.getMethods())
                .filter(method -> method.getParameterCount() > 0)
                .filter(method -> method.getDeclaringClass() != Object.class)
                .map(Method::getName)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The rows of all tables below a heading, by option, with the cells behind it. */
    private Map<String, String[]> rows(String heading) throws IOException {
        Map<String, String[]> rows = new TreeMap<>();
        boolean isBelow = false;
        for (String line : Files.readAllLines(page)) {
            if (line.startsWith("## ")) {
                isBelow = line.startsWith(heading);
            }
            Matcher row = ROW.matcher(line);
            if (isBelow && row.matches()) {
                String[] cells = row.group(2).split("\\|", -1);
                Arrays.setAll(cells, i -> cells[i].strip());
                assertThat(rows.put(row.group(1), cells)).as(line).isNull();
            }
        }
        assertThat(rows).as("rows below %s", heading).isNotEmpty();
        return rows;
    }
}
