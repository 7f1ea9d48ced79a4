// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;

/** How services on RDMA are named and found (RFC 8166, 5 and 9). */
class AddressingTest {

    private static final int RPCBIND = 100000;
    private static final int RPCBPROC_SET = 1;
    private static final int RPCBPROC_GETADDR = 3;

    @ParameterizedTest
    @CsvSource({
        "192.0.2.1, 20049, 192.0.2.1.78.81, rdma",
        "127.0.0.1, 0, 127.0.0.1.0.0, rdma",
        "255.255.255.255, 65535, 255.255.255.255.255.255, rdma",
        "2001:db8::1, 20049, 2001:db8::1.78.81, rdma6",
        "::, 111, ::.0.111, rdma6"
    })
    @Proves({"V1-BIND-01", "V1-BIND-03", "OLD-35", "ULB-05"})
    void netidsAndUniversalAddresses(String host, int port, String universal, String netid) {
        InetSocketAddress address =
                new InetSocketAddress(NetUtil.createInetAddressFromIpAddressString(host), port);
        NetId id = NetId.of(address.getAddress());
        assertThat(id).hasToString(netid);
        assertThat(NetId.universalAddress(address)).isEqualTo(universal);
        assertThat(id.parse(universal)).isEqualTo(address);
        assertThat(NetId.NFS_PORT).isEqualTo(20049);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                ".",
                "..",
                "1.2.3.4",
                "1.2.3.4.5",
                "1.2.3.4.5.",
                "1.2.3.4..5",
                "1.2.3.4.256.1",
                "1.2.3.4.1.256",
                "1.2.3.4.-1.2",
                "1.2.3.4.+1.2",
                "1.2.3.4.1.1111",
                "1.2.3.4.5.6.7",
                "localhost.78.81",
                "2001:db8::1.78.81"
            })
    void whatIsNoUniversalAddress(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NetId.RDMA.parse(text))
                .withMessageContaining(text);
        assertThatIllegalArgumentException().isThrownBy(() -> NetId.RDMA6.parse("1.2.3.4.5.6"));
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () ->
                                NetId.universalAddress(
                                        InetSocketAddress.createUnresolved("nfs.invalid", 1)));
    }

    @Property(tries = 200)
    void everyAddressComesBack(
            @ForAll @Size(16) byte[] host,
            @ForAll boolean v4,
            @ForAll @IntRange(max = 65535) int port)
            throws Exception {
        InetSocketAddress address =
                new InetSocketAddress(
                        InetAddress.getByAddress(v4 ? Arrays.copyOf(host, 4) : host), port);
        assertThat(NetId.of(address.getAddress()).parse(NetId.universalAddress(address)))
                .isEqualTo(address);
    }

    /** An rpcbind on the RDMA network itself: RPCBPROC_SET and RPCBPROC_GETADDR of RFC 1833, by netid. */
    private static final class RpcBind extends SimpleChannelInboundHandler<ByteBuf> {
        private final ConcurrentMap<String, String> services;

        RpcBind(ConcurrentMap<String, String> services) {
            this.services = services;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
            int xid = call.readInt();
            assertThat(call.getInt(call.readerIndex() + 8)).isEqualTo(RPCBIND);
            int procedure = call.getInt(call.readerIndex() + 16);
            call.skipBytes(36);
            String key = call.readInt() + "." + call.readInt() + "." + string(call);
            String address = string(call);
            string(call);
            ByteBuf reply = Rpc.reply(xid);
            if (procedure == RPCBPROC_SET) {
                reply.writeInt(services.putIfAbsent(key, address) == null ? 1 : 0);
            } else {
                string(reply, services.getOrDefault(key, ""));
            }
            ctx.writeAndFlush(reply);
        }
    }

    private static void string(ByteBuf out, String text) {
        Rpc.opaque(out, text.getBytes(StandardCharsets.US_ASCII));
    }

    private static String string(ByteBuf in) {
        int length = in.readInt();
        String text = in.readCharSequence(length, StandardCharsets.US_ASCII).toString();
        in.skipBytes(-length & 3);
        return text;
    }

    private static ByteBuf rpcbind(int xid, int procedure, NetId netid, String address) {
        ByteBuf call = Rpc.call(xid, RPCBIND, 3, procedure).writeInt(Rpc.NFS).writeInt(3);
        string(call, netid.toString());
        string(call, address);
        string(call, "owner");
        return call;
    }

    @Test
    @Proves({"V1-BIND-01", "V1-BIND-04", "V1-BIND-05", "V1-BIND-06", "API-19", "V1-ULB-08"})
    void aServiceIsFoundThroughAnRpcbindOnRdma() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        ConcurrentMap<String, String> services = new ConcurrentHashMap<>();
        RpcPair.Inbox nfs = new RpcPair.Inbox();
        RpcPair.Inbox inbox = new RpcPair.Inbox();
        try {
            InetSocketAddress rpcbind = serve(group, config, () -> new RpcBind(services));
            InetSocketAddress service = serve(group, config, () -> nfs);
            Channel asking = connect(group, config, rpcbind, inbox);
            NetId netid = NetId.of(service.getAddress());
            asking.writeAndFlush(rpcbind(1, RPCBPROC_SET, netid, NetId.universalAddress(service)));
            assertThat(inbox.takeBytes()).hasSize(28).endsWith(0, 0, 0, 1);
            asking.writeAndFlush(rpcbind(2, RPCBPROC_GETADDR, NetId.RDMA6, ""));
            assertThat(inbox.takeBytes()).hasSize(28).endsWith(0, 0, 0, 0);
            asking.writeAndFlush(rpcbind(3, RPCBPROC_GETADDR, netid, ""));
            ByteBuf reply = inbox.takeBuffer().skipBytes(24);
            InetSocketAddress found = netid.parse(string(reply));
            reply.release();
            assertThat(found).isEqualTo(service);
            connect(group, config, found, inbox).writeAndFlush(Rpc.call(4, Rpc.NFS, 3, 0));
            assertThat(nfs.takeXid()).isEqualTo(4);
        } finally {
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    private interface Handler {
        ChannelHandler make();
    }

    private static ChannelInitializer<Channel> initializer(RpcRdmaConfig config, Handler handler) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new RpcRdmaCodec(config), handler.make());
            }
        };
    }

    private static InetSocketAddress serve(
            RdmaEventLoopGroup group, RpcRdmaConfig config, Handler handler) throws Exception {
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(initializer(config, handler));
        Channel listener =
                config.applyTo(bootstrap)
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        return (InetSocketAddress) listener.localAddress();
    }

    private static Channel connect(
            RdmaEventLoopGroup group,
            RpcRdmaConfig config,
            InetSocketAddress address,
            RpcPair.Inbox inbox)
            throws Exception {
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaChannel.class)
                        .handler(initializer(config, () -> inbox));
        return config.applyTo(bootstrap).connect(address).sync().channel();
    }
}
