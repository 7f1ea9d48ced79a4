// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.hdfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.examples.client.FileTransfer;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.client.NfsStatusException;
import org.rpcrdma.examples.common.RpcConnection;

/**
 * Hadoop's NFS gateway on RDMA: files go through it into HDFS and back. Hadoop 3.4 asks the JDK whom a thread acts for
 * in a way that the JDK does not answer since version 23.
 */
@EnabledForJreRange(max = JRE.JAVA_22)
class HdfsGatewayTest {

    private static final OpaqueAuth ROOT = OpaqueAuth.sys("test", 0, 0, List.of());

    /** HDFS is not done with what was written: the client asks again later (RFC 1813, 2.6). */
    private static final int NFS3ERR_JUKEBOX = 10008;

    private static final int PATIENCE_SECONDS = 100;

    /** More than goes inline either way. */
    private static final int PLACED_MIN = 4096;

    @TempDir private static Path data;
    private static Hdfs hdfs;
    private static HdfsGateway gateway;

    @TempDir private Path directory;

    @BeforeAll
    static void start() throws Exception {
        hdfs = new Hdfs(data);
        gateway = new HdfsGateway(hdfs.configuration(), 0, 0);
    }

    @AfterAll
    static void stop() {
        if (gateway != null) {
            gateway.close();
        }
        if (hdfs != null) {
            hdfs.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4097, 1_000_001, 5_000_003})
    void aFileGoesIntoHdfsAndComesBack(int length) throws Exception {
        byte[] bytes = bytes(length);
        String name = "file." + length;
        long read = gateway.metrics().value(RpcRdmaCounter.READ_BYTES);
        long written = gateway.metrics().value(RpcRdmaCounter.WRITE_BYTES_SENT);
        try (NfsSession session = open(gateway.mountAddress())) {
            put(session, name, bytes);
            assertThat(get(session, name, length)).isEqualTo(bytes);
        }
        try (InputStream in = hdfs.files().open(new org.apache.hadoop.fs.Path(Hdfs.root(), name))) {
            assertThat(in.readAllBytes()).isEqualTo(bytes);
        }
        if (length >= PLACED_MIN) {
            assertThat(gateway.metrics().value(RpcRdmaCounter.READ_BYTES) - read)
                    .as("bytes that the gateway has read from the client's memory")
                    .isGreaterThanOrEqualTo(length);
            assertThat(gateway.metrics().value(RpcRdmaCounter.WRITE_BYTES_SENT) - written)
                    .as("bytes that the gateway has placed into the client's memory")
                    .isGreaterThanOrEqualTo(length);
        }
    }

    @Test
    void hdfsIsListed() throws Exception {
        try (NfsSession session = open(gateway.mountAddress())) {
            Nfs3Client.Found root = session.find("/");
            List<String> made = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                String name = "listed." + i + ".".repeat(100);
                session.nfs().create(root.handle(), name, 0644);
                made.add(name);
            }
            List<String> listed = new ArrayList<>();
            session.nfs().list(root.handle(), "/", entry -> listed.add(entry.name()));
            assertThat(listed).doesNotHaveDuplicates().containsAll(made);
        }
    }

    @Test
    void whatIsNotThereIsToldByItsStatus() throws Exception {
        try (NfsSession session = open(gateway.mountAddress())) {
            Nfs3Client.Found root = session.find("/");
            assertThatThrownBy(() -> session.nfs().lookup(root.handle(), "nothing"))
                    .isInstanceOfSatisfying(
                            NfsStatusException.class,
                            e -> assertThat(e.status()).isEqualTo(2)); // NFS3ERR_NOENT
        }
    }

    /** As the Linux kernel does it. */
    @Test
    void mountOverTcpServesTheSameHandles() throws Exception {
        try (NfsSession one = open(gateway.mountAddress());
                NfsSession other = open(gateway.mountTcpAddress())) {
            assertThat(other.find("/").handle()).isEqualTo(one.find("/").handle());
        }
    }

    private static NfsSession open(InetSocketAddress mount) throws IOException {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        RpcConnection nfs = RpcConnection.rdma(gateway.nfsAddress(), config);
        RpcConnection mounting =
                mount.equals(gateway.mountAddress())
                        ? RpcConnection.rdma(mount, config)
                        : RpcConnection.tcp(mount);
        return NfsSession.open(nfs, mounting, ROOT);
    }

    private void put(NfsSession session, String name, byte[] bytes) throws IOException {
        Path local = Files.write(directory.resolve("put"), bytes);
        Nfs3Client.Found root = session.find("/");
        Nfs3Client.Found file = session.nfs().create(root.handle(), name, 0644);
        try (FileChannel in = FileChannel.open(local)) {
            transfer(session, root).put(in, file.handle(), name);
        } catch (NfsStatusException e) {
            assertThat(e.status()).isEqualTo(NFS3ERR_JUKEBOX);
            await().atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .ignoreExceptionsMatching(HdfsGatewayTest::isBusy)
                    .until(() -> session.nfs().commit(file.handle(), name) != 0);
        }
    }

    private static boolean isBusy(Throwable failure) {
        return failure instanceof NfsStatusException e && e.status() == NFS3ERR_JUKEBOX;
    }

    private byte[] get(NfsSession session, String name, int length) throws IOException {
        Path local = directory.resolve("get");
        Nfs3Client.Found root = session.find("/");
        Nfs3Client.Found file = session.nfs().lookup(root.handle(), name);
        try (FileChannel out =
                FileChannel.open(local, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            transfer(session, root).get(file.handle(), name, length, out);
        }
        return Files.readAllBytes(local);
    }

    private static FileTransfer transfer(NfsSession session, Nfs3Client.Found root)
            throws IOException {
        return new FileTransfer(session.nfs(), session.nfs().limits(root.handle()), count -> {});
    }

    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }
}
