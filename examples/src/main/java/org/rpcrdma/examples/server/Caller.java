// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.util.List;
import org.rpcrdma.codec.rpc.AuthSys;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.examples.export.NfsException;
import org.rpcrdma.examples.export.UnixAttributes;
import org.rpcrdma.examples.nfs.Nfs3Status;

/**
 * Who a client says makes the call (AUTH_SYS, RFC 5531, appendix A), and what that one may do.
 *
 * @param isChecked whether the server asks the modes of files; otherwise the system does, for the server's own user
 */
record Caller(int uid, int gid, List<Integer> groups, boolean isChecked) {

    static final int READ = 4;
    static final int WRITE = 2;
    static final int EXECUTE = 1;

    private static final int ROOT = 0;
    private static final int NOBODY = 65534;

    /** What the system takes for "as it is" where an owner or group is set (chown(2)). */
    private static final int NO_ID = -1;

    private static final int ALL = READ | WRITE | EXECUTE;

    /** What the server makes of credentials. */
    enum Policy {
        /** The server is not root: all callers have the rights of its user. */
        AS_SERVER,
        /** The server is root, and who says so of himself is it too. */
        ROOT_TRUSTED,
        /** The server is root, and who says so of himself is nobody. */
        ROOT_SQUASHED;

        static Policy of(int serverUid, boolean squashesRoot) {
            if (serverUid != ROOT) {
                return AS_SERVER;
            }
            return squashesRoot ? ROOT_SQUASHED : ROOT_TRUSTED;
        }

        private int squashed(int id) {
            return id == NO_ID || (id == ROOT && this == ROOT_SQUASHED) ? NOBODY : id;
        }
    }

    static Caller of(RpcServerCall call, Policy policy) throws MalformedXdrException {
        if (call.flavor() != OpaqueAuth.AUTH_SYS) {
            return new Caller(NOBODY, NOBODY, List.of(), policy != Policy.AS_SERVER);
        }
        AuthSys sys = AuthSys.of(call.credential());
        return of(sys.uid(), sys.gid(), sys.gids(), policy);
    }

    static Caller of(int uid, int gid, List<Integer> groups, Policy policy) {
        boolean isTrusted = policy == Policy.ROOT_TRUSTED && uid == ROOT;
        return new Caller(
                policy.squashed(uid),
                policy.squashed(gid),
                groups.stream().map(policy::squashed).toList(),
                policy != Policy.AS_SERVER && !isTrusted);
    }

    Caller unchecked() {
        return new Caller(uid, gid, groups, false);
    }

    boolean isInGroup(int group) {
        return gid == group || groups.contains(group);
    }

    boolean owns(UnixAttributes file) {
        return !isChecked || uid == file.uid();
    }

    /** What the mode gives; of one that is not checked, what it gives to root. */
    int rights(UnixAttributes file) {
        int mode = file.mode();
        if (!isChecked) {
            boolean canExecute = file.isDirectory() || (mode & 0111) != 0;
            return canExecute ? ALL : READ | WRITE;
        } else if (uid == file.uid()) {
            return mode >>> 6 & ALL;
        }
        return (isInGroup(file.gid()) ? mode >>> 3 : mode) & ALL;
    }

    /** @throws NfsException NFS3ERR_ACCES */
    void require(int rights, UnixAttributes file) throws NfsException {
        if (isChecked && (rights(file) & rights) != rights) {
            throw new NfsException(Nfs3Status.NFS3ERR_ACCES, "the mode does not let this caller");
        }
    }

    /**
     * For data. The owner always may, whatever the mode: a client checks that when a program opens the file, and the
     * program may go on after it has taken its own rights away. What may be executed may be read for that.
     */
    void requireData(int right, UnixAttributes file) throws NfsException {
        boolean isExecuted = right == READ && (rights(file) & EXECUTE) != 0;
        if (!owns(file) && !isExecuted) {
            require(right, file);
        }
    }

    /** @throws NfsException NFS3ERR_PERM */
    void requireOwner(UnixAttributes file) throws NfsException {
        if (!owns(file)) {
            throw notPermitted();
        }
    }

    /** For a change of a directory, that takes a name from a file or not ({@code null}). */
    void requireChange(UnixAttributes directory, UnixAttributes victim) throws NfsException {
        require(WRITE | EXECUTE, directory);
        boolean isSticky = (directory.mode() & UnixAttributes.STICKY) != 0;
        if (isSticky && victim != null && !owns(directory) && !owns(victim)) {
            throw notPermitted();
        }
    }

    /** For a new owner or group: only root gives files away. */
    void requireOwnership(UnixAttributes file, int newUid, int newGid) throws NfsException {
        boolean isKept = newGid == file.gid() || isInGroup(newGid);
        if (isChecked && (!owns(file) || newUid != file.uid() || !isKept)) {
            throw notPermitted();
        }
    }

    /** A mode that this caller may give to a file of that group. */
    int allowedMode(int mode, int group) {
        boolean mayActAsGroup = !isChecked || isInGroup(group);
        return mode & (mayActAsGroup ? UnixAttributes.MODE_MASK : ~UnixAttributes.SET_GID);
    }

    private static NfsException notPermitted() {
        return new NfsException(Nfs3Status.NFS3ERR_PERM, "the file is not this caller's");
    }
}
