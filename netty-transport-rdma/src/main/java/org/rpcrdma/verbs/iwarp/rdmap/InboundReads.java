// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.ddp.PayloadSource;
import org.rpcrdma.verbs.iwarp.memory.ExposureOwner;
import org.rpcrdma.verbs.iwarp.memory.IwarpExposure;
import org.rpcrdma.verbs.iwarp.memory.StagTable;
import org.rpcrdma.verbs.iwarp.mpa.FpduLayout;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/**
 * The peer's Read Requests that are not yet answered, oldest first: as many as the inbound read depth (IRD). Is the
 * source of the Read Response that is being sent, and looks the STag up again for every segment of it.
 */
public final class InboundReads implements PayloadSource {

    private final StagTable stags;
    private final ExposureOwner stream;
    private ReadRequestHeader[] requests = new ReadRequestHeader[0];
    private int head;

    /** Requests that are not yet answered. */
    int count;

    private long sent;

    public InboundReads(StagTable stags, ExposureOwner stream) {
        this.stags = stags;
        this.stream = stream;
    }

    /** Sets the agreed depth. */
    public void depth(int ird) {
        requests = new ReadRequestHeader[ird];
    }

    /** The request being answered. */
    ReadRequestHeader first() {
        return requests[head];
    }

    /** Admits a request, after which its data may be sent. */
    void add(ReadRequestHeader request) throws StreamException {
        if (count == requests.length) {
            throw new StreamException(
                    RdmapError.OPERATION_CATASTROPHIC_STREAM,
                    "The peer has more than the agreed " + requests.length + " Reads outstanding");
        }
        if (request.size > 0) {
            check(request, request.sourceOffset, request.size);
        }
        int slot = (head + count) % requests.length;
        if (requests[slot] == null) {
            requests[slot] = new ReadRequestHeader();
        }
        requests[slot].set(request);
        count++;
    }

    /** The response to the oldest request is complete. */
    void remove() {
        head = (head + 1) % requests.length;
        count--;
        sent = 0;
    }

    private IwarpExposure check(ReadRequestHeader request, long offset, long size)
            throws StreamException {
        IwarpExposure exposure = stags.find(request.sourceStag);
        if (exposure == null) {
            throw new StreamException(
                    RdmapError.PROTECTION_INVALID_STAG,
                    String.format(
                            "Read Request names STag 0x%08x, which is not valid",
                            request.sourceStag));
        }
        if (!exposure.admits(stream)) {
            throw new StreamException(
                    RdmapError.PROTECTION_NOT_ASSOCIATED,
                    String.format(
                            "Read Request names STag 0x%08x of another connection",
                            request.sourceStag));
        }
        if (!exposure.isReadable()) {
            throw new StreamException(
                    RdmapError.PROTECTION_ACCESS,
                    String.format(
                            "Read Request names STag 0x%08x, which gives no right to read",
                            request.sourceStag));
        }
        if (Long.compareUnsigned(offset, -size) > 0) {
            throw new StreamException(
                    RdmapError.PROTECTION_WRAP,
                    String.format(
                            "Read Request for %d bytes at offset 0x%x wraps around 2^64",
                            size, offset));
        }
        if (!exposure.contains(offset, size)) {
            throw new StreamException(
                    RdmapError.PROTECTION_BOUNDS,
                    String.format(
                            "Read Request for %d bytes at offset 0x%x is not inside STag 0x%08x",
                            size, offset, request.sourceStag));
        }
        return exposure;
    }

    @Override
    public int admit(int wanted) throws StreamException {
        ReadRequestHeader request = requests[head];
        check(request, request.sourceOffset + sent, wanted);
        return wanted;
    }

    @Override
    public void gather(FpduSender out, int bytes) {
        ReadRequestHeader request = requests[head];
        IwarpExposure exposure = stags.find(request.sourceStag);
        long address = exposure.address(request.sourceOffset + sent);
        sent += bytes;
        if (out.wantsCopy(bytes)) {
            out.copy(exposure.region().memory, exposure.region().index(address), bytes);
        } else {
            // The owner of the memory may change it: then it is undefined which bytes the peer
            // reads, but they have the right CRC.
            out.changingPayload(exposure.region().borrow(address, bytes), exposure.region());
            exposure.queuedUntil(
                    out.queued + FpduLayout.LENGTH_BYTES + DdpSegmentHeader.TAGGED_BYTES + bytes);
        }
    }
}
