// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A captured conversation between two ends of librdmacm. */
record Conversation(String name, List<Operation> operations) {

    private static final String RESOURCE = "/rsocket-vectors.txt";

    /** What an end did. */
    enum Type {
        DATA,
        WRITE,
        SEND,
        IMMEDIATE,
        END
    }

    /**
     * One line of the capture.
     *
     * @param bytes the private data, the entry that was written or the message; otherwise empty
     */
    record Operation(
            boolean fromClient, Type type, int key, long offset, int length, ByteBuf bytes) {

        /** The message, whichever byte order the wire has. */
        int message() {
            int value = bytes.getInt(0);
            return type == Type.SEND ? Integer.reverseBytes(value) : value;
        }
    }

    static List<Conversation> all() {
        Map<String, List<Operation>> conversations = new LinkedHashMap<>();
        try (BufferedReader reader =
                new BufferedReader(
                        new InputStreamReader(
                                Conversation.class.getResourceAsStream(RESOURCE),
                                StandardCharsets.US_ASCII))) {
            reader.lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.split(" "))
                    .forEach(
                            word ->
                                    conversations
                                            .computeIfAbsent(word[0], name -> new ArrayList<>())
                                            .add(operation(word)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return conversations.entrySet().stream()
                .map(entry -> new Conversation(entry.getKey(), entry.getValue()))
                .toList();
    }

    private static Operation operation(String[] word) {
        boolean fromClient = word[1].equals("client");
        Type type = Type.valueOf(word[2].toUpperCase(Locale.ROOT));
        return switch (type) {
            case WRITE ->
                    new Operation(
                            fromClient,
                            type,
                            Integer.parseUnsignedInt(word[3], 16),
                            Long.parseUnsignedLong(word[4], 16),
                            Integer.parseInt(word[5], 16),
                            word.length > 6 ? hex(word[6]) : Unpooled.EMPTY_BUFFER);
            case END -> new Operation(fromClient, type, 0, 0, 0, Unpooled.EMPTY_BUFFER);
            default -> new Operation(fromClient, type, 0, 0, 0, hex(word[3]));
        };
    }

    private static ByteBuf hex(String digits) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(digits));
    }

    @Override
    public String toString() {
        return name;
    }
}
