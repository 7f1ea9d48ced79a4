// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/** What an operator reads about connections and messages. */
class OperatorTextTest {

    @Test
    void aCallWithChunksIsOneLine() {
        TransportHeader header = new TransportHeader();
        header.set(0x1234, 64, TransportHeader.RDMA_MSG);
        header.reads().add(108, 7, 4096, 0x1000);
        header.writes().add(8, 512, 0x2000);
        header.writes().add(9, 512, 0x3000);
        header.writes().endChunk();
        header.reply().setPresent();
        header.reply().add(10, 1024, 0x4000);
        ByteBuf message = Unpooled.buffer();
        header.encode(message);
        message.writeBytes(Rpc.echo(0x1234, 8));
        String expected =
                "RDMA_MSG version 1 XID 0x00001234 credits 64, Read at 108 [0x00000007 4096 bytes"
                    + " at 0x1000], Write [0x00000008 512 bytes at 0x2000] [0x00000009 512 bytes at"
                    + " 0x3000], Reply [0x0000000a 1024 bytes at 0x4000]";
        assertThat(HeaderTraceLogHandler.line(message))
                .startsWith(expected + ", ")
                .contains(" bytes inline: call of program ");
        assertThat(header).hasToString(expected);
        assertThat(HeaderTraceLogHandler.line(new RdmaSendWithInvalidate(message, 11)))
                .startsWith(expected)
                .endsWith(", invalidates 0x0000000b");
    }

    @Test
    void manySegmentsDoNotMakeALongLine() {
        TransportHeader header = new TransportHeader();
        header.set(1, 1, TransportHeader.RDMA_NOMSG);
        for (int i = 0; i < 500; i++) {
            header.reads().add(0, i, 1, i);
        }
        assertThat(header.toString()).hasSizeLessThan(500).endsWith(" and 492 segments more");
    }

    @Test
    void errorsAreNamed() {
        ByteBuf error = Unpooled.buffer();
        RdmaErrorMessage.encode(error, 2, 1, 3, RdmaErrorMessage.ERR_CHUNK);
        assertThat(HeaderTraceLogHandler.line(error))
                .isEqualTo("RDMA_ERROR version 1 XID 0x00000002 credits 3, ERR_CHUNK");
        error.clear();
        RdmaErrorMessage.encodeVersions(error, 2, 1, 3, 1);
        assertThat(HeaderTraceLogHandler.line(error)).endsWith(", ERR_VERS 1 to 1");
    }

    @Test
    void operationsSayWhere() {
        ByteBuf data = Unpooled.buffer().writeZero(5);
        assertThat(HeaderTraceLogHandler.line(new RdmaWrite(data, -1, 16)))
                .isEqualTo("RDMA Write of 5 bytes to 0xffffffff at 0x10");
        assertThat(HeaderTraceLogHandler.line(new RdmaRead(data, 1, -1)))
                .isEqualTo("RDMA Read of 5 bytes from 0x00000001 at 0xffffffffffffffff");
        assertThat(new RdmaWrite(data, 1, 2).toString()).contains("to 0x00000001 at 0x2");
        assertThat(new RdmaRead(data, 1, 2).toString()).contains("from 0x00000001 at 0x2");
        assertThat(new RdmaSendWithInvalidate(data, 3).toString())
                .contains("invalidates 0x00000003");
    }

    /** Whatever a peer sends has a line, and stays as it is. */
    @Property(tries = 2000)
    void anyBytesHaveALine(@ForAll @Size(max = 200) byte[] bytes) {
        ByteBuf message = Unpooled.wrappedBuffer(bytes);
        assertThat(HeaderTraceLogHandler.line(message)).isNotBlank().doesNotContain("\n");
        assertThat(message.readableBytes()).isEqualTo(bytes.length);
    }

    @Test
    void connectionsSayHowTheyAre() throws Exception {
        RpcRdmaConfig config = RpcPair.usual().build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            pair.call(Rpc.echo(1, 8));
            pair.server.takeBytes();
            assertThat(RpcRdmaConnection.of(pair.serverChannel).toString())
                    .contains(pair.serverChannel.toString())
                    .contains("version 1")
                    .contains("1 of 64 in progress");
            assertThat(RpcRdmaConnection.of(pair.clientChannel).toString())
                    .contains("1 calls of 1 credits in flight, 0 waiting");
        }
        assertThat(config.toString()).contains("grants 64 credits");
        assertThat(new RpcRdmaMetrics().toString()).startsWith("RpcRdmaMetrics(0 connections");
    }
}
