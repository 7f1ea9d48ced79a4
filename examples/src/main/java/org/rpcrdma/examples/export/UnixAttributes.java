// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.nfs.NfsFileType;
import org.apache.hadoop.nfs.NfsTime;
import org.apache.hadoop.nfs.nfs3.Nfs3FileAttributes;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.response.WccAttr;
import org.apache.hadoop.oncrpc.XDR;

/**
 * The attributes of one file at one time ({@code fattr3}, RFC 1813, 2.6). Hadoop's class knows times in milliseconds
 * only, which hides changes from a client: this one keeps nanoseconds.
 */
public final class UnixAttributes extends Nfs3FileAttributes {

    /** The encoded length in bytes. */
    public static final int WIRE_LENGTH = 84;

    private static final String NAMES =
            "unix:mode,ino,dev,rdev,nlink,uid,gid,size,ctime,lastModifiedTime,lastAccessTime,creationTime";
    private static final int TYPE_MASK = 0170000;
    private static final int PERMISSION_MASK = 07777;

    private final NfsFileType type;
    private final int device;
    private final long inode;
    private final long birthNanos;
    private final NfsTime accessTime;
    private final NfsTime modifyTime;
    private final NfsTime changeTime;

    private UnixAttributes(Map<String, Object> values, NfsFileType type, long fsid) {
        super(
                type,
                (int) values.get("nlink"),
                (short) ((int) values.get("mode") & PERMISSION_MASK),
                (int) values.get("uid"),
                (int) values.get("gid"),
                (long) values.get("size"),
                fsid,
                fileId((long) values.get("dev"), (long) values.get("ino"), fsid),
                0,
                0,
                new Specdata3(major((long) values.get("rdev")), minor((long) values.get("rdev"))));
        this.type = type;
        device = (int) (long) values.get("dev");
        inode = (long) values.get("ino");
        birthNanos = ((FileTime) values.get("creationTime")).to(TimeUnit.NANOSECONDS);
        accessTime = time(values.get("lastAccessTime"));
        modifyTime = time(values.get("lastModifiedTime"));
        changeTime = time(values.get("ctime"));
    }

    /**
     * Reads attributes.
     *
     * @param fsid what clients see as the file system's number; 0 to take the file's own
     */
    static UnixAttributes read(Path path, long fsid, LinkOption... options) throws IOException {
        Map<String, Object> values = Files.readAttributes(path, NAMES, options);
        long shown = fsid == 0 ? (long) values.get("dev") : fsid;
        return new UnixAttributes(values, type((int) values.get("mode")), shown);
    }

    /** Of the file itself, even if it is a symbolic link; {@code null} where there is none. */
    static UnixAttributes readIfExists(Path path, long fsid) throws IOException {
        try {
            return read(path, fsid, LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    public boolean isDirectory() {
        return type == NfsFileType.NFSDIR;
    }

    /** @throws NfsException if it is a directory, or anything else */
    public void requireRegular() throws NfsException {
        if (isDirectory()) {
            throw new NfsException(Nfs3Status.NFS3ERR_ISDIR, "a directory");
        } else if (!isRegularFile()) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not a regular file");
        }
    }

    public boolean isRegularFile() {
        return type == NfsFileType.NFSREG;
    }

    public boolean isSymbolicLink() {
        return type == NfsFileType.NFSLNK;
    }

    int device() {
        return device;
    }

    long inode() {
        return inode;
    }

    long birthNanos() {
        return birthNanos;
    }

    @Override
    public NfsTime getAtime() {
        return accessTime;
    }

    @Override
    public NfsTime getMtime() {
        return modifyTime;
    }

    @Override
    public NfsTime getCtime() {
        return changeTime;
    }

    @Override
    public WccAttr getWccAttr() {
        return new WccAttr(getSize(), modifyTime, changeTime);
    }

    @Override
    public void serialize(XDR out) {
        out.writeInt(type.toValue());
        out.writeInt(getMode());
        out.writeInt(getNlink());
        out.writeInt(getUid());
        out.writeInt(getGid());
        out.writeLongAsHyper(getSize());
        out.writeLongAsHyper(getSize());
        out.writeInt(getRdev().getSpecdata1());
        out.writeInt(getRdev().getSpecdata2());
        out.writeLongAsHyper(getFsid());
        out.writeLongAsHyper(getFileId());
        accessTime.serialize(out);
        modifyTime.serialize(out);
        changeTime.serialize(out);
    }

    /** Appends {@link #WIRE_LENGTH} bytes, the same as {@link #serialize}. */
    public void writeTo(ByteBuf out) {
        XDR xdr = new XDR(WIRE_LENGTH);
        serialize(xdr);
        out.writeBytes(xdr.asReadOnlyWrap().buffer());
    }

    /** Whether two times are the same to the nanosecond; {@link NfsTime#equals} compares milliseconds. */
    public static boolean isSame(NfsTime one, NfsTime other) {
        return one.getSeconds() == other.getSeconds() && one.getNseconds() == other.getNseconds();
    }

    private static NfsTime time(Object value) {
        Instant instant = ((FileTime) value).toInstant();
        return new NfsTime((int) instant.getEpochSecond(), instant.getNano());
    }

    private static NfsFileType type(int mode) {
        return switch (mode & TYPE_MASK) {
            case 0100000 -> NfsFileType.NFSREG;
            case 0040000 -> NfsFileType.NFSDIR;
            case 0060000 -> NfsFileType.NFSBLK;
            case 0020000 -> NfsFileType.NFSCHR;
            case 0120000 -> NfsFileType.NFSLNK;
            case 0140000 -> NfsFileType.NFSSOCK;
            default -> NfsFileType.NFSFIFO;
        };
    }

    /** Clients see one file system, so files of one that is mounted below the export need numbers of their own. */
    private static long fileId(long device, long inode, long fsid) {
        return device == fsid ? inode : inode ^ Long.rotateLeft(device * 0x9e3779b97f4a7c15L, 32);
    }

    private static int major(long rdev) {
        return (int) ((rdev >>> 8 & 0xfff) | (rdev >>> 32 & 0xfffff000));
    }

    private static int minor(long rdev) {
        return (int) ((rdev & 0xff) | (rdev >>> 12 & 0xffffff00));
    }
}
