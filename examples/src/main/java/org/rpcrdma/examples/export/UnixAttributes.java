// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.codec.rpc.XdrWriter;
import org.rpcrdma.examples.nfs.Nfs3Status;

/** The attributes of one file at one time ({@code fattr3}, RFC 1813, 2.6). */
public final class UnixAttributes implements XdrEncodable {

    /** The encoded length in bytes. */
    public static final int WIRE_LENGTH = 84;

    /** Bits of a mode. */
    public static final int SET_UID = 04000;

    public static final int SET_GID = 02000;
    public static final int STICKY = 01000;
    public static final int MODE_MASK = 07777;

    private static final String NAMES =
            "unix:mode,ino,dev,rdev,nlink,uid,gid,size,ctime,lastModifiedTime,lastAccessTime,creationTime";
    private static final int TYPE_MASK = 0170000;
    private static final int REGULAR = 0100000;
    private static final int DIRECTORY = 0040000;
    private static final int SYMBOLIC_LINK = 0120000;

    private final Map<String, Object> values;
    private final long fsid;

    private UnixAttributes(Map<String, Object> values, long fsid) {
        this.values = values;
        this.fsid = fsid == 0 ? number("dev") : fsid;
    }

    /**
     * Reads attributes.
     *
     * @param fsid what clients see as the file system's number; 0 to take the file's own
     */
    static UnixAttributes read(Path path, long fsid, LinkOption... options) throws IOException {
        return new UnixAttributes(Files.readAttributes(path, NAMES, options), fsid);
    }

    /** As {@link #read}; {@code null} where there is no file. */
    static UnixAttributes readIfExists(Path path, long fsid, LinkOption... options)
            throws IOException {
        try {
            return read(path, fsid, options);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private int integer(String name) {
        return (int) values.get(name);
    }

    private long number(String name) {
        return (long) values.get(name);
    }

    private Instant time(String name) {
        return ((FileTime) values.get(name)).toInstant();
    }

    private int typeBits() {
        return integer("mode") & TYPE_MASK;
    }

    public boolean isDirectory() {
        return typeBits() == DIRECTORY;
    }

    public boolean isRegularFile() {
        return typeBits() == REGULAR;
    }

    public boolean isSymbolicLink() {
        return typeBits() == SYMBOLIC_LINK;
    }

    /** @throws NfsException if it is a directory, or anything else */
    public void requireRegular() throws NfsException {
        if (isDirectory()) {
            throw new NfsException(Nfs3Status.NFS3ERR_ISDIR, "a directory");
        } else if (!isRegularFile()) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not a regular file");
        }
    }

    public int mode() {
        return integer("mode") & MODE_MASK;
    }

    int links() {
        return integer("nlink");
    }

    public int uid() {
        return integer("uid");
    }

    public int gid() {
        return integer("gid");
    }

    public long size() {
        return number("size");
    }

    long fsid() {
        return fsid;
    }

    int device() {
        return (int) number("dev");
    }

    long inode() {
        return number("ino");
    }

    long birthNanos() {
        return ((FileTime) values.get("creationTime")).to(TimeUnit.NANOSECONDS);
    }

    public Instant accessed() {
        return time("lastAccessTime");
    }

    public Instant modified() {
        return time("lastModifiedTime");
    }

    public Instant changed() {
        return time("ctime");
    }

    /** Clients see one file system, so files of one that is mounted below the export need numbers of their own. */
    public long fileId() {
        long device = number("dev");
        return device == fsid
                ? inode()
                : inode() ^ Long.rotateLeft(device * 0x9e3779b97f4a7c15L, 32);
    }

    @Override
    public void writeTo(XdrWriter out) {
        long rdev = number("rdev");
        out.writeInt(type()).writeInt(mode()).writeInt(links()).writeInt(uid()).writeInt(gid());
        out.writeLong(size()).writeLong(size());
        out.writeInt((int) ((rdev >>> 8 & 0xfff) | (rdev >>> 32 & 0xfffff000)));
        out.writeInt((int) ((rdev & 0xff) | (rdev >>> 12 & 0xffffff00)));
        out.writeLong(fsid).writeLong(fileId());
        writeTime(out, accessed());
        writeTime(out, modified());
        writeTime(out, changed());
    }

    /** As {@code post_op_attr}. */
    public XdrEncodable optional() {
        return out -> out.writeBoolean(true).write(this);
    }

    /** As {@code pre_op_attr}: size and times, which tell a client whether its own change was the only one. */
    public XdrEncodable before() {
        return out -> {
            out.writeBoolean(true).writeLong(size());
            writeTime(out, modified());
            writeTime(out, changed());
        };
    }

    private static void writeTime(XdrWriter out, Instant time) {
        out.writeInt((int) time.getEpochSecond()).writeInt(time.getNano());
    }

    /** {@code ftype3}. */
    private int type() {
        return switch (typeBits()) {
            case REGULAR -> 1;
            case DIRECTORY -> 2;
            case 0060000 -> 3; // block device
            case 0020000 -> 4; // character device
            case SYMBOLIC_LINK -> 5;
            case 0140000 -> 6; // socket
            default -> 7; // pipe
        };
    }
}
