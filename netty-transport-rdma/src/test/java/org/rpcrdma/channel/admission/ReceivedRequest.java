// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** A connection request without a channel. */
final class ReceivedRequest implements AdmissionRequest {

    private final InetAddress remote;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    private ReceivedRequest(InetAddress remote) {
        this.remote = remote;
    }

    static ReceivedRequest from(String address) throws UnknownHostException {
        return new ReceivedRequest(InetAddress.getByName(address));
    }

    /** The connection ends. */
    void end() {
        ended.complete(null);
    }

    @Override
    public InetSocketAddress localAddress() {
        return new InetSocketAddress(20049);
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return new InetSocketAddress(remote, 1023);
    }

    @Override
    public byte[] privateData() {
        return new byte[0];
    }

    @Override
    public Executor executor() {
        return Runnable::run;
    }

    @Override
    public CompletionStage<Void> ended() {
        return ended.minimalCompletionStage();
    }
}
