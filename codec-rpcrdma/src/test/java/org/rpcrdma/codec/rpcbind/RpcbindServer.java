// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** A small rpcbind on TCP and UDP, written without the classes under test; or a script in its place. */
public final class RpcbindServer implements AutoCloseable {

    /** Registrations by program, version and netid: universal address, then owner. */
    final Map<List<Object>, List<String>> services = new LinkedHashMap<>();

    /** Calls as they have come, with the XID set to zero. */
    final List<byte[]> calls = new CopyOnWriteArrayList<>();

    private final ServerSocket tcp = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final DatagramSocket udp =
            new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    private final Function<ByteBuf, List<byte[]>> script;
    private volatile boolean losesSet;
    private final List<Socket> accepted = new CopyOnWriteArrayList<>();

    /** An rpcbind with the versions 3 and 4. */
    public RpcbindServer() throws IOException {
        this(null);
    }

    /** Answers a call with bytes: each a datagram, or together what goes over the stream. */
    RpcbindServer(Function<ByteBuf, List<byte[]>> script) throws IOException {
        this.script = script;
        start(this::serveTcp);
        start(this::serveUdp);
    }

    private static void start(Runnable loop) {
        Thread thread = new Thread(loop, "test rpcbind");
        thread.setDaemon(true);
        thread.start();
    }

    /** Where it takes calls by TCP. */
    public InetSocketAddress tcp() {
        return (InetSocketAddress) tcp.getLocalSocketAddress();
    }

    InetSocketAddress udp() {
        return (InetSocketAddress) udp.getLocalSocketAddress();
    }

    /** Registers a service. */
    public void put(int program, int version, String netid, String address) {
        synchronized (services) {
            services.put(List.of(program, version, netid), List.of(address, "test"));
        }
    }

    private void serveTcp() {
        try {
            while (true) {
                Socket socket = tcp.accept();
                accepted.add(socket);
                start(() -> serve(socket));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            while (true) {
                byte[] call = in.readNBytes(in.readInt() & 0x7FFFFFFF);
                if (script == null) {
                    byte[] reply = answer(Unpooled.wrappedBuffer(call));
                    if (losesSet && call[23] == 1) {
                        losesSet = false;
                        return;
                    }
                    // Two fragments, which a requester has to join.
                    ByteBuf out = Unpooled.buffer().writeInt(8).writeBytes(reply, 0, 8);
                    out.writeInt(0x80000000 | reply.length - 8);
                    out.writeBytes(reply, 8, reply.length - 8);
                    out.readBytes(socket.getOutputStream(), out.readableBytes());
                } else {
                    List<byte[]> all = script.apply(Unpooled.wrappedBuffer(call));
                    if (all == null) {
                        return;
                    }
                    for (byte[] part : all) {
                        socket.getOutputStream().write(part);
                    }
                }
            }
        } catch (IOException e) {
            // the requester has gone
        }
    }

    private void serveUdp() {
        try {
            while (true) {
                DatagramPacket packet = new DatagramPacket(new byte[9000], 9000);
                udp.receive(packet);
                ByteBuf call = Unpooled.wrappedBuffer(packet.getData(), 0, packet.getLength());
                for (byte[] part : script == null ? List.of(answer(call)) : script.apply(call)) {
                    udp.send(new DatagramPacket(part, part.length, packet.getSocketAddress()));
                }
            }
        } catch (IOException e) {
            // closed
        }
    }

    /** The next registration is done, and its answer is lost. */
    void loseNextAnswerOfSet() {
        losesSet = true;
    }

    private byte[] answer(ByteBuf call) {
        byte[] copy = new byte[call.readableBytes()];
        call.getBytes(0, copy);
        copy[0] = copy[1] = copy[2] = copy[3] = 0;
        calls.add(copy);
        ByteBuf reply = success(call.readInt());
        call.skipBytes(16);
        int procedure = call.readInt();
        call.skipBytes(16);
        synchronized (services) {
            if (procedure == 4) {
                services.forEach(
                        (key, value) -> {
                            reply.writeInt(1).writeInt((int) key.get(0)).writeInt((int) key.get(1));
                            string(reply, (String) key.get(2));
                            string(reply, value.get(0));
                            string(reply, value.get(1));
                        });
                reply.writeInt(0);
            } else {
                List<Object> key = List.of(call.readInt(), call.readInt(), string(call));
                List<String> value = List.of(string(call), string(call));
                switch (procedure) {
                    case 1 -> reply.writeInt(services.putIfAbsent(key, value) == null ? 1 : 0);
                    case 2 -> {
                        List<String> known = services.get(key);
                        boolean isOwn = known != null && known.get(1).equals(value.get(1));
                        reply.writeInt(isOwn ? 1 : 0);
                        if (isOwn) {
                            services.remove(key);
                        }
                    }
                    default -> string(reply, services.getOrDefault(key, List.of("", "")).get(0));
                }
            }
        }
        return bytes(reply);
    }

    /** The services by netid and address, for assertions. */
    List<String> registered() {
        synchronized (services) {
            return services.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue()).toList();
        }
    }

    static ByteBuf success(int xid) {
        return Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(0).writeLong(0).writeInt(0);
    }

    static byte[] bytes(ByteBuf buffer) {
        byte[] bytes = new byte[buffer.readableBytes()];
        buffer.readBytes(bytes);
        return bytes;
    }

    static ByteBuf string(ByteBuf out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        return out.writeInt(bytes.length).writeBytes(bytes).writeZero(-bytes.length & 3);
    }

    private static String string(ByteBuf in) {
        int length = in.readInt();
        String text = in.readCharSequence(length, StandardCharsets.US_ASCII).toString();
        in.skipBytes(-length & 3);
        return text;
    }

    @Override
    public void close() throws IOException {
        tcp.close();
        udp.close();
        for (Socket socket : accepted) {
            socket.close();
        }
    }
}
