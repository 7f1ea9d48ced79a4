// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.hdfs;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.nfs.conf.NfsConfigKeys;
import org.apache.hadoop.hdfs.nfs.conf.NfsConfiguration;
import org.apache.hadoop.security.UserGroupInformation;

/** An HDFS in this process: a NameNode and one DataNode, with few threads. All may write in its root. */
final class Hdfs implements AutoCloseable {

    /** The least that a NameNode takes: a file of some MB has several blocks. */
    private static final int BLOCK_BYTES = 1 << 20;

    private static final int HANDLERS = 2;

    private final NfsConfiguration configuration;
    private final MiniDFSCluster cluster;

    /**
     * @param directory for its data, and for what the gateway keeps of writes that come out of order; what is in it may
     *     be deleted
     */
    Hdfs(Path directory) throws IOException {
        configuration = new NfsConfiguration();
        // The gateway calls HDFS as the user of this process, on behalf of the one who calls it.
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        configuration.set("hadoop.proxyuser." + user + ".hosts", "*");
        configuration.set("hadoop.proxyuser." + user + ".groups", "*");
        configuration.setInt(DFSConfigKeys.DFS_BLOCK_SIZE_KEY, BLOCK_BYTES);
        configuration.setInt(DFSConfigKeys.DFS_NAMENODE_HANDLER_COUNT_KEY, HANDLERS);
        configuration.setInt(DFSConfigKeys.DFS_DATANODE_HANDLER_COUNT_KEY, HANDLERS);
        configuration.set("nfs.exports.allowed.hosts", "* rw");
        configuration.set(
                NfsConfigKeys.DFS_NFS_FILE_DUMP_DIR_KEY, directory.resolve("dump").toString());
        configuration.set(NfsConfigKeys.NFS_HTTP_ADDRESS_KEY, "127.0.0.1:0");
        cluster =
                new MiniDFSCluster.Builder(configuration, directory.resolve("hdfs").toFile())
                        .numDataNodes(1)
                        .build();
        try {
            files().setPermission(root(), new FsPermission((short) 0777));
        } catch (IOException | RuntimeException e) {
            cluster.shutdown();
            throw e;
        }
    }

    /** What the gateway needs to know of it. */
    NfsConfiguration configuration() {
        return configuration;
    }

    /** The files as HDFS itself gives them, past the gateway. */
    FileSystem files() throws IOException {
        return cluster.getFileSystem();
    }

    static org.apache.hadoop.fs.Path root() {
        return new org.apache.hadoop.fs.Path("/");
    }

    @Override
    public void close() {
        cluster.shutdown(true);
    }
}
