// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.stream;

import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Messages of gRPC that are their bytes. */
final class GrpcBytes implements MethodDescriptor.Marshaller<byte[]> {

    static final MethodDescriptor.Marshaller<byte[]> MARSHALLER = new GrpcBytes();

    private GrpcBytes() {}

    @Override
    public InputStream stream(byte[] value) {
        return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
        try {
            return stream.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
