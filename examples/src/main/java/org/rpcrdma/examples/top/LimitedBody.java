// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.top;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** The text of an answer, which fails as soon as it is longer than it may be. */
final class LimitedBody implements BodySubscriber<String> {

    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final CompletableFuture<String> body = new CompletableFuture<>();
    private final int mostBytes;
    private Flow.Subscription subscription;

    LimitedBody(int mostBytes) {
        this.mostBytes = mostBytes;
    }

    @Override
    public CompletionStage<String> getBody() {
        return body;
    }

    @Override
    public void onSubscribe(Flow.Subscription started) {
        subscription = started;
        started.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        for (ByteBuffer buffer : buffers) {
            // More can be on its way after the cancellation.
            if (body.isDone()) {
                return;
            }
            if (buffer.remaining() > mostBytes - received.size()) {
                body.completeExceptionally(
                        new IOException("the answer has more than " + mostBytes + " bytes"));
                subscription.cancel();
                return;
            }
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            received.write(bytes, 0, bytes.length);
        }
    }

    @Override
    public void onError(Throwable cause) {
        body.completeExceptionally(cause);
    }

    @Override
    public void onComplete() {
        body.complete(received.toString(StandardCharsets.UTF_8));
    }
}
