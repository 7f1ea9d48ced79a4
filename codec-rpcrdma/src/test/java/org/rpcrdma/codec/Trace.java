// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** One Send of a captured conversation; the format is described at the top of the resource. */
record Trace(
        String conversation,
        int connection,
        boolean fromRequester,
        int frame,
        String invalidated,
        int xid,
        int version,
        int credit,
        int proc,
        int headerBytes,
        String reads,
        String writes,
        String reply,
        String rpc,
        String message) {

    static List<Trace> load(String conversation) {
        List<Trace> sends = new ArrayList<>();
        try (InputStream in =
                        Trace.class.getResourceAsStream("linux-6.1-" + conversation + ".trace");
                BufferedReader lines =
                        new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.startsWith("#")) {
                    sends.add(parse(conversation, line));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return sends;
    }

    static List<Trace> all() {
        List<Trace> sends = new ArrayList<>(load("nfs3"));
        sends.addAll(load("nfs41"));
        return sends;
    }

    private static Trace parse(String conversation, String line) {
        String[] field = line.split("\\|", -1);
        String[] fixed = field[4].split(" ", -1);
        return new Trace(
                conversation,
                Integer.parseInt(field[0]),
                field[1].equals("requester"),
                Integer.parseInt(field[2]),
                field[3],
                Integer.parseUnsignedInt(fixed[0], 16),
                Integer.parseUnsignedInt(fixed[1], 16),
                Integer.parseUnsignedInt(fixed[2], 16),
                Integer.parseUnsignedInt(fixed[3], 16),
                Integer.parseInt(field[5]),
                field[6],
                field[7],
                field[8],
                field[9],
                field[10]);
    }

    ByteBuf buffer() {
        return Unpooled.wrappedBuffer(HexFormat.of().parseHex(message));
    }

    int program() {
        return rpcPart(0);
    }

    int programVersion() {
        return rpcPart(1);
    }

    int procedure() {
        return rpcPart(2);
    }

    boolean isCall() {
        return rpc.indexOf('.') > 0;
    }

    private int rpcPart(int i) {
        return Integer.parseInt(rpc.split("\\.", -1)[i]);
    }

    @Override
    public String toString() {
        return conversation + " frame " + frame;
    }
}
