// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/** What all channels of one address have begun and not got is bounded, and costs other addresses nothing. */
class ChannelIncompleteMessageQuotaShareTest {

    private static final int RECEIVE = 64 << 10;
    private static final long LIMIT = 2 * RECEIVE;
    private static final String ONE = "127.0.0.2";
    private static final String OTHER = "127.0.0.3";

    private final ConnectedPair.Inbox clientInbox = new ConnectedPair.Inbox();
    private final ConnectedPair.Inbox serverInbox = new ConnectedPair.Inbox();
    private RdmaEventLoopGroup clients;
    private RdmaEventLoopGroup servers;
    private Channel listener;

    @BeforeEach
    void begin() {
        clients = new RdmaEventLoopGroup(1);
        servers = new RdmaEventLoopGroup(1);
        listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerChannel.class)
                        .childOption(RdmaChannelOption.RECEIVE_SIZE, RECEIVE)
                        .childOption(RdmaChannelOption.RECEIVE_DEPTH, 8)
                        .childOption(RdmaChannelOption.INCOMPLETE_BYTES_PER_ADDRESS, LIMIT)
                        .childHandler(ConnectedPair.initializer(serverInbox))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .syncUninterruptibly()
                        .channel();
    }

    @AfterEach
    void end() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        clientInbox.releaseAll();
        serverInbox.releaseAll();
        assertThat(PeerIncompleteMessageQuota.count()).isZero();
        assertThat(PeerIncompleteMessageQuota.total()).isZero();
    }

    /** The server's end of a connection from that address. */
    private RdmaChannel accepted(String address) throws InterruptedException {
        new Bootstrap()
                .group(clients)
                .channel(RdmaChannel.class)
                .handler(ConnectedPair.initializer(clientInbox))
                .connect(listener.localAddress(), new InetSocketAddress(address, 0))
                .sync();
        return (RdmaChannel) serverInbox.channels.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static void begins(RdmaChannel channel, long bytes) throws Exception {
        on(
                channel,
                () -> {
                    ChannelInternals.of(channel).incompleteBegins((int) bytes);
                    return null;
                });
    }

    private static void ends(RdmaChannel channel, long bytes) throws Exception {
        on(
                channel,
                () -> {
                    ChannelInternals.of(channel).incompleteEnds((int) bytes);
                    return null;
                });
    }

    private static void assertRefused(RdmaChannel channel, int bytes) {
        assertThatThrownBy(() -> begins(channel, bytes))
                .hasMessageContaining("bytes of incomplete messages already (expected: at most");
    }

    @Test
    @Proves("SEC-28")
    void oneAddressHasOnePartOnAllItsChannels() throws Exception {
        RdmaChannel first = accepted(ONE);
        RdmaChannel second = accepted(ONE);
        RdmaChannel other = accepted(OTHER);
        begins(first, LIMIT - 1);
        assertRefused(second, 2);
        begins(second, 1);
        assertRefused(first, 1);
        begins(other, LIMIT);
        ends(first, 10);
        begins(second, 10);
        assertRefused(second, 1);
    }

    @Test
    void whoIsAloneGetsWhatHeWants() throws Exception {
        RdmaChannel channel = accepted(ONE);
        begins(channel, LIMIT + 1);
        assertRefused(channel, 1);
        ends(channel, LIMIT + 1);
        begins(channel, LIMIT + 1);
    }

    /** With a limit of half of the memory as by default, and of all of it. */
    @Test
    @Proves("SEC-28")
    void severalAddressesLeaveMemoryToOthers() {
        long memory = 800;
        assertThat(PeerIncompleteMessageQuota.most(400, 0, memory)).isEqualTo(400);
        assertThat(PeerIncompleteMessageQuota.most(800, 0, memory)).isEqualTo(800);
        assertThat(PeerIncompleteMessageQuota.most(400, 250, memory)).isEqualTo(200);
        assertThat(PeerIncompleteMessageQuota.most(800, 250, memory)).isEqualTo(400);
        assertThat(PeerIncompleteMessageQuota.most(100, 250, memory)).isEqualTo(100);
        assertThat(PeerIncompleteMessageQuota.most(400, 499, memory)).isZero();
        assertThat(PeerIncompleteMessageQuota.most(400, 900, memory)).isZero();
        for (int addresses : new int[] {2, 8, 100}) {
            long[] taken = new long[addresses];
            long total = takeAll(taken, memory);
            assertThat(total).isLessThanOrEqualTo(memory * 5 / 8);
        }
    }

    /** Each address takes one after the other, as long as one of them gets something. */
    private static long takeAll(long[] taken, long memory) {
        long total = 0;
        long before = -1;
        while (total > before) {
            before = total;
            for (int i = 0; i < taken.length; i++) {
                if (taken[i]
                        < PeerIncompleteMessageQuota.most(memory / 2, total - taken[i], memory)) {
                    taken[i]++;
                    total++;
                }
            }
        }
        return total;
    }

    /** A long message of each of many addresses: short ones of others still find memory. */
    @Test
    @Proves("SEC-28")
    void manyAddressesWithOneMessageEachLeaveMemoryToOthers() throws Exception {
        long eighth = RdmaChannel.registeredBytesLimit() / 8;
        List<RdmaChannel> channels = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            channels.add(accepted("127.0.1." + i));
        }
        for (RdmaChannel channel : channels.subList(0, 6)) {
            begins(channel, eighth);
        }
        assertRefused(channels.get(6), (int) eighth);
        begins(channels.get(6), 1000);
        begins(channels.get(6), 1000);
        assertRefused(channels.get(6), (int) eighth);
        ends(channels.get(0), eighth);
        begins(channels.get(7), eighth - 2000);
    }

    @Test
    @Proves("SEC-28")
    void allAddressesTogetherLeaveAnEighth() {
        long memory = 800 << 10;
        assertThat(PeerIncompleteMessageQuota.isGranted(0, 900 << 10, 0, 1, memory))
                .as("alone")
                .isTrue();
        assertThat(PeerIncompleteMessageQuota.isGranted(0, 600 << 10, 1, 1, memory)).isFalse();
        assertThat(PeerIncompleteMessageQuota.isGranted(0, (600 << 10) - 1, 1, 1, memory)).isTrue();
        long[] taken = new long[10_000];
        long total = 0;
        for (int i = 0; i < taken.length; i++) {
            for (int length : new int[] {100 << 10, 10 << 10, 100}) {
                long others = total - taken[i];
                if (PeerIncompleteMessageQuota.isGranted(
                        taken[i], length, others, memory / 2, memory)) {
                    taken[i] += length;
                    total += length;
                }
            }
        }
        assertThat(total).isBetween(memory * 7 / 8 - 100, memory * 7 / 8);
    }

    @Test
    void theEndOfAChannelGivesBackWhatItHad() throws Exception {
        RdmaChannel first = accepted(ONE);
        RdmaChannel second = accepted(ONE);
        begins(first, LIMIT);
        first.close().sync();
        begins(second, LIMIT);
        begins(first, LIMIT); // of no effect
        ends(first, LIMIT);
        assertRefused(second, 1);
    }

    private static ReceiveMemoryRange memory(RdmaChannel channel, int id, int length)
            throws Exception {
        return on(channel, () -> channel.dataPath().receiveMemory(id, length));
    }

    /** A message of several segments takes a whole receive, before it is known how long it is. */
    @Test
    @NeedsDevice("receivesWithoutMemory") // elsewhere the memory of all receives is there already
    @Proves("SEC-28")
    void messagesOfSeveralSegmentsCount() throws Exception {
        RdmaChannel first = accepted(ONE);
        RdmaChannel second = accepted(ONE);
        RdmaChannel third = accepted(ONE);
        RdmaChannel other = accepted(OTHER);
        assertThat(memory(first, 0, RECEIVE)).isNotNull();
        assertThat(memory(second, 0, RECEIVE)).isNotNull();
        assertThat(memory(third, 0, RECEIVE)).as("above the bound").isNull();
        assertThat(memory(third, 0, 1000)).as("a short one").isNotNull();
        assertThat(memory(other, 0, RECEIVE)).as("of another address").isNotNull();
        // In one turn of the one loop: the device has not received what completes here, and would
        // refuse the next receive that the delivery of it posts.
        on(
                first,
                () -> {
                    first.dataPath().completed(0, WorkStatus.SUCCESS, 100);
                    assertThat(first.dataPath().receiveMemory(1, RECEIVE)).isNotNull();
                    assertThat(third.dataPath().receiveMemory(1, RECEIVE))
                            .as("above the bound again")
                            .isNull();
                    return null;
                });
    }

    /** A device asks for memory while it reads, and tells of completions later, of several at a time. */
    @Test
    @NeedsDevice("receivesWithoutMemory")
    @Proves("SEC-28")
    void messagesThatCompleteTogetherGiveBackWhatEachHasTaken() throws Exception {
        RdmaChannel first = accepted(ONE);
        RdmaChannel second = accepted(ONE);
        on(
                first,
                () -> {
                    var peer = first.dataPath();
                    for (int id = 0; id < 3; id++) {
                        assertThat(peer.receiveMemory(id, RECEIVE)).isNotNull();
                    }
                    // Of the third, the first segment alone is there.
                    peer.completed(0, WorkStatus.SUCCESS, RECEIVE);
                    peer.completed(1, WorkStatus.SUCCESS, RECEIVE);
                    assertThat(second.dataPath().receiveMemory(0, RECEIVE)).isNotNull();
                    assertThat(second.dataPath().receiveMemory(1, 1000)).isNotNull();
                    assertThatThrownBy(() -> ChannelInternals.of(second).incompleteBegins(1))
                            .hasMessageContaining("bytes of incomplete messages already");
                    peer.completed(2, WorkStatus.SUCCESS, RECEIVE);
                    ChannelInternals.of(second).incompleteBegins(RECEIVE);
                    ChannelInternals.of(second).incompleteEnds(RECEIVE);
                    return null;
                });
    }

    /** It is none of a larger one that has only begun. */
    @Test
    @NeedsDevice("receivesWithoutMemory")
    @Proves("SEC-28")
    void aShortMessageGivesBackNothing() throws Exception {
        RdmaChannel first = accepted(ONE);
        RdmaChannel second = accepted(ONE);
        on(
                first,
                () -> {
                    assertThat(first.dataPath().receiveMemory(0, 100)).isNotNull();
                    assertThat(first.dataPath().receiveMemory(1, RECEIVE)).isNotNull();
                    first.dataPath().completed(0, WorkStatus.SUCCESS, 100);
                    ChannelInternals.of(second).incompleteBegins(RECEIVE);
                    assertThatThrownBy(() -> ChannelInternals.of(second).incompleteBegins(1))
                            .hasMessageContaining("bytes of incomplete messages already");
                    return null;
                });
    }
}
