// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCounted;
import java.util.Objects;
import java.util.function.Supplier;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.internal.MessageJoin;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;

/**
 * Calls the procedures of one version of a program (RFC 5531) over any {@link RpcTransport}. Arguments and results are
 * buffers, or objects that read and write themselves. A call whose status is not SUCCESS fails with an {@link
 * RpcStatusException}; results that cannot be read fail it with a {@link MalformedXdrException}.
 *
 * <p>Immutable and thread-safe, as far as the transport is; costs nothing to keep. Results are read on the event loop.
 */
public final class RpcClient {

    private static final int CALL = 0;
    private static final int REPLY = 1;
    private static final int RPC_VERSION = 2;

    /** XID to procedure, and the verifier AUTH_NONE. */
    private static final int FIXED_BYTES = 24 + 8;

    /** XID to {@code accept_stat}, with an empty verifier. */
    private static final int SHORTEST_ACCEPTED = 24;

    private static final int FIRST_ARGUMENT_BYTES = 224;

    /** Longer arguments are not copied behind their header. */
    private static final int COPIED_ARGUMENT_BYTES = 4096;

    private final RpcTransport transport;
    private final int program;
    private final int version;
    private final Supplier<OpaqueAuth> credentials;
    private final CallOptions options;
    private final ReplyOutcomeDecoder<ReferenceCounted, ByteBuf> bufferReader = this::readResults;
    private final ReplyOutcomeDecoder<RpcMessage, RpcMessage> messageReader = this::readMessage;

    /**
     * A client that calls as nobody (AUTH_NONE), with {@link CallOptions#DEFAULT}.
     *
     * @param transport of the calls; stays the caller's, who closes it
     * @param program the RPC program, unsigned
     * @param version of the program, unsigned
     */
    public RpcClient(RpcTransport transport, int program, int version) {
        this(transport, program, version, () -> OpaqueAuth.NONE, CallOptions.DEFAULT);
    }

    private RpcClient(
            RpcTransport transport,
            int program,
            int version,
            Supplier<OpaqueAuth> credentials,
            CallOptions options) {
        this.transport = Objects.requireNonNull(transport, "transport");
        this.program = program;
        this.version = version;
        this.credentials = Objects.requireNonNull(credentials, "credentials");
        this.options = Objects.requireNonNull(options, "options");
    }

    /**
     * Calls as somebody else.
     *
     * @param supplier of the credential of each call, such as {@link OpaqueAuth#sys}; runs on the thread of the call
     * @return a client that differs in this; this one is left alone
     */
    public RpcClient withCredentials(Supplier<OpaqueAuth> supplier) {
        return new RpcClient(transport, program, version, supplier, options);
    }

    /**
     * Calls with other options, such as a time-out.
     *
     * @param newOptions of each call
     * @return a client that differs in this; this one is left alone
     */
    public RpcClient withOptions(CallOptions newOptions) {
        return new RpcClient(transport, program, version, credentials, newOptions);
    }

    /** {@return what the calls go over} */
    public RpcTransport transport() {
        return transport;
    }

    // ------------------------------------------------------------------ buffers

    /**
     * Calls a procedure without arguments, such as NULL (0).
     *
     * @param procedure of this version, unsigned
     * @return the results in XDR, from the reader index on; the caller releases them
     */
    public RpcFuture<ByteBuf> call(int procedure) {
        return call(procedure, Unpooled.EMPTY_BUFFER);
    }

    /**
     * Calls a procedure.
     *
     * @param procedure of this version, unsigned
     * @param arguments in XDR, a multiple of 4 bytes; taken over. Short ones are copied behind the header.
     * @return the results in XDR, from the reader index on; the caller releases them
     */
    public RpcFuture<ByteBuf> call(int procedure, ByteBuf arguments) {
        return transport.exchange(prepend(procedure, arguments), options, bufferReader);
    }

    private ByteBuf prepend(int procedure, ByteBuf arguments) {
        try {
            OpaqueAuth credential = credentials.get();
            int length = arguments.readableBytes();
            boolean isCopied = length <= COPIED_ARGUMENT_BYTES;
            ByteBuf call = newHeader(procedure, credential, isCopied ? length : 0);
            return MessageJoin.join(call, arguments, isCopied);
        } finally {
            arguments.release();
        }
    }

    // ------------------------------------------------------------------ objects

    /**
     * Calls a procedure with arguments that write themselves.
     *
     * @param procedure of this version, unsigned
     * @param arguments written on the thread of the call, before this method returns
     * @return the results in XDR, from the reader index on; the caller releases them
     */
    public RpcFuture<ByteBuf> call(int procedure, XdrEncodable arguments) {
        return transport.exchange(newMessage(procedure, arguments), options, bufferReader);
    }

    /**
     * Calls a procedure with arguments that write themselves, and reads its results.
     *
     * @param <T> what the results become
     * @param procedure of this version, unsigned
     * @param arguments written on the thread of the call, before this method returns
     * @param results reads the results on the event loop; an exception fails the call
     * @return what was read
     */
    public <T> RpcFuture<T> call(int procedure, XdrEncodable arguments, XdrDecoder<T> results) {
        Objects.requireNonNull(results, "results");
        return transport.exchange(
                newMessage(procedure, arguments), options, reply -> read(reply, results));
    }

    private <T> T read(ReferenceCounted reply, XdrDecoder<T> results) throws Exception {
        try {
            ByteBuf payload = payloadOf(reply);
            skipHeader(payload);
            return results.read(new XdrReader(payload));
        } finally {
            reply.release();
        }
    }

    // ------------------------------------------------------------------ messages

    /**
     * A call to which sinks for results and a maximum reply can be added.
     *
     * @param procedure of this version, unsigned
     * @param arguments written before this method returns
     * @return the call; the caller's, for {@link #call(RpcMessage)}
     */
    public RpcMessage newCall(int procedure, XdrEncodable arguments) {
        ReferenceCounted call = newMessage(procedure, arguments);
        return call instanceof RpcMessage message ? message : new RpcMessage((ByteBuf) call);
    }

    /**
     * Calls a procedure with a prepared message.
     *
     * @param call from {@link #newCall}; taken over
     * @return the reply: results from the reader index of its content on, and in its sinks; the caller releases it
     */
    public RpcFuture<RpcMessage> call(RpcMessage call) {
        return transport.exchange(call, options, messageReader);
    }

    /**
     * Calls a procedure with a message that is built after its XID is assigned, anew for each transmission, as
     * RPCSEC_GSS needs it (RFC 2203, 5.3.1): the marshaller writes the header with credential and verifier.
     *
     * @param <T> what the results become
     * @param marshaller builds the whole call on the event loop
     * @param results reads the verifier of the reply, and the results behind it, on the event loop
     * @return what was read
     */
    public <T> RpcFuture<T> call(
            CallMarshaller<ByteBuf> marshaller, VerifiedResultsDecoder<T> results) {
        Objects.requireNonNull(results, "results");
        return transport.exchangeMarshalled(
                marshaller,
                options,
                reply -> {
                    try {
                        ReplyHeader header = ReplyHeader.read(reply);
                        requireSuccess(header);
                        return results.read(header.verifier(), new XdrReader(reply));
                    } finally {
                        reply.release();
                    }
                });
    }

    /**
     * Reads results whose verifier says whether they come from the responder.
     *
     * @param <T> what they become
     */
    @FunctionalInterface
    public interface VerifiedResultsDecoder<T> {

        /**
         * Verifies and reads results.
         *
         * @param verifier of the reply
         * @param in the results; not to be used after this method has returned
         * @return what the results become
         * @throws Exception fails the call
         */
        T read(OpaqueAuth verifier, XdrReader in) throws Exception;
    }

    // ------------------------------------------------------------------ headers

    /** A {@link ByteBuf}, or an {@link RpcMessage} if the arguments have items. */
    private ReferenceCounted newMessage(int procedure, XdrEncodable arguments) {
        XdrWriter out =
                XdrWriter.ofMessage(newHeader(procedure, credentials.get(), FIRST_ARGUMENT_BYTES));
        try {
            arguments.writeTo(out);
            return out.message();
        } catch (Throwable t) {
            out.release();
            throw t;
        }
    }

    private ByteBuf newHeader(int procedure, OpaqueAuth credential, int argumentBytes) {
        int length = FIXED_BYTES + credential.encodedBytes();
        ByteBuf call = ByteBufAllocator.DEFAULT.buffer(length + argumentBytes);
        // Two words at a time: the XID, 0 so far, and CALL; RPC version and program; version and
        // procedure.
        call.writeLong(CALL).writeLong((long) RPC_VERSION << 32 | Integer.toUnsignedLong(program));
        call.writeLong((long) version << 32 | Integer.toUnsignedLong(procedure));
        credential.writeTo(call);
        return call.writeLong(0); // AUTH_NONE
    }

    private static ByteBuf payloadOf(ReferenceCounted reply) {
        return reply instanceof RpcMessage message ? message.content() : (ByteBuf) reply;
    }

    private ByteBuf readResults(ReferenceCounted reply) throws Exception {
        readHeader(reply);
        if (reply instanceof RpcMessage message) {
            ByteBuf results = message.content().retain();
            message.release();
            return results;
        }
        return (ByteBuf) reply;
    }

    private RpcMessage readMessage(RpcMessage reply) throws Exception {
        readHeader(reply);
        return reply;
    }

    /** Moves to the results, or releases the reply. */
    private void readHeader(ReferenceCounted reply) throws Exception {
        try {
            skipHeader(payloadOf(reply));
        } catch (Throwable t) {
            reply.release();
            throw t;
        }
    }

    /** Allocates nothing for a reply with results and an empty verifier. */
    private void skipHeader(ByteBuf reply) throws MalformedXdrException, RpcStatusException {
        int start = reply.readerIndex();
        if (reply.readableBytes() >= SHORTEST_ACCEPTED
                && reply.getLong(start + 4) == (long) REPLY << 32 // and MSG_ACCEPTED
                && reply.getLong(start + 16) == 0) { // no verifier, and SUCCESS
            reply.readerIndex(start + SHORTEST_ACCEPTED);
        } else {
            requireSuccess(ReplyHeader.read(reply));
        }
    }

    private void requireSuccess(ReplyHeader header) throws RpcStatusException {
        if (header.status() != Status.SUCCESS) {
            throw new RpcStatusException(header, program, version);
        }
    }

    @Override
    public String toString() {
        return "RpcClient(program "
                + Integer.toUnsignedString(program)
                + " version "
                + Integer.toUnsignedString(version)
                + " over "
                + transport
                + ')';
    }
}
