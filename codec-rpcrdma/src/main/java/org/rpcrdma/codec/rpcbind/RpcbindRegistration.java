// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import io.netty.channel.Channel;
import io.netty.util.concurrent.Future;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.rpcrdma.codec.NetId;

/**
 * The versions of a program of one server, registered with an rpcbind until the server's channel or the registration is
 * closed. Thread-safe.
 */
public final class RpcbindRegistration {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(RpcbindRegistration.class);

    private final RpcbindClient rpcbind;
    private final int program;
    private final int[] versions;
    private final InetSocketAddress address;
    private final String owner = System.getProperty("user.name", "unknown");
    private Future<Void> closed;

    private RpcbindRegistration(
            RpcbindClient rpcbind, int program, int[] versions, InetSocketAddress address) {
        this.rpcbind = rpcbind;
        this.program = program;
        this.versions = versions;
        this.address = address;
    }

    /**
     * Registers versions of a program at the address of a server. An earlier registration of the same versions is
     * removed first, because a server that was killed has left its own.
     *
     * @param rpcbind of the machine of the server
     * @param server bound; when it is closed, so is the registration
     * @param program the RPC program, unsigned
     * @param versions of the program, unsigned; at least one
     * @return the registration; fails, with nothing registered, with {@link RpcbindException} if the rpcbind refuses,
     *     or another {@link IOException}
     */
    public static Future<RpcbindRegistration> register(
            RpcbindClient rpcbind, Channel server, int program, int... versions) {
        if (!(server.localAddress() instanceof InetSocketAddress address)) {
            throw new IllegalArgumentException(
                    "server: " + server + " is not bound (expected: a channel that bind() made)");
        }
        if (versions.length == 0) {
            throw new IllegalArgumentException("versions: none (expected: at least one)");
        }
        RpcbindRegistration registration =
                new RpcbindRegistration(rpcbind, program, versions.clone(), address);
        return rpcbind.submit(
                () -> {
                    registration.set();
                    server.closeFuture().addListener(ended -> registration.close());
                    return registration;
                });
    }

    private void set() throws IOException {
        for (int i = 0; i < versions.length; i++) {
            boolean isSet = false;
            int asked = i;
            try {
                rpcbind.unsetNow(program, versions[i], netid(), owner);
                asked = i + 1; // the answer may be lost that says it is set
                isSet = rpcbind.setNow(program, versions[i], address, owner);
                if (!isSet) {
                    asked = i;
                    throw new RpcbindException(
                            rpcbind
                                    + " refuses to register program "
                                    + Integer.toUnsignedString(program)
                                    + " version "
                                    + Integer.toUnsignedString(versions[i])
                                    + " (expected: no registration of another user, and a request"
                                    + " from this machine)");
                }
            } finally {
                if (!isSet) {
                    unset(asked);
                }
            }
        }
    }

    /** Removes the first versions; a failure leaves the others to be tried. */
    private void unset(int count) {
        for (int i = 0; i < count; i++) {
            try {
                rpcbind.unsetNow(program, versions[i], netid(), owner);
            } catch (IOException e) {
                LOGGER.warn("{} is not removed: {}", this, e.getMessage());
            }
        }
    }

    private NetId netid() {
        return NetId.of(address.getAddress());
    }

    /**
     * Removes the registration. The server goes on.
     *
     * @return completes when the rpcbind has answered, or a log line tells that it has not; a JVM that exits earlier
     *     leaves the registration
     */
    public synchronized Future<Void> close() {
        if (closed == null) {
            closed =
                    rpcbind.submit(
                            () -> {
                                unset(versions.length);
                                return null;
                            });
        }
        return closed;
    }

    /** The program, its address and the rpcbind. */
    @Override
    public String toString() {
        return "registration of program "
                + Integer.toUnsignedString(program)
                + " as "
                + netid()
                + ' '
                + NetId.universalAddress(address)
                + " with "
                + rpcbind;
    }
}
