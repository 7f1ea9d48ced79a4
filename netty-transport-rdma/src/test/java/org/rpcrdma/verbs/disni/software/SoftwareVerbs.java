// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.RdmaVerbs;
import com.ibm.disni.verbs.SVCDeregMr;
import com.ibm.disni.verbs.SVCPollCq;
import com.ibm.disni.verbs.SVCPostRecv;
import com.ibm.disni.verbs.SVCPostSend;
import com.ibm.disni.verbs.SVCRegMr;
import com.ibm.disni.verbs.SVCReqNotify;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/**
 * The verbs. Memory is registered by its buffer; by its address only where that is registered already, or Netty can
 * make a buffer of one.
 */
final class SoftwareVerbs extends RdmaVerbs {

    private static final int NO_ODP = -1;

    private final SoftwareDevice device;

    SoftwareVerbs(SoftwareDevice device) {
        this.device = device;
    }

    private <T> T made(T thing) {
        device.made(thing);
        return thing;
    }

    @Override
    public IbvPd allocPd(IbvContext context) throws IOException {
        return made(new SoftwarePd(context));
    }

    @Override
    public int deallocPd(IbvPd pd) {
        int left = ((SoftwarePd) pd).regions.get();
        if (left > 0) {
            device.provider.problem(
                    "A protection domain was freed before " + left + " of its regions");
            return SoftwareDevice.EBUSY;
        }
        pd.close();
        device.destroyed(pd);
        return 0;
    }

    @Override
    public IbvCompChannel createCompChannel(IbvContext context) throws IOException {
        return made(new SoftwareCompChannel(context));
    }

    @Override
    public int destroyCompChannel(IbvCompChannel channel) {
        if (((SoftwareCompChannel) channel).users.get() > 0) {
            device.provider.problem("A completion channel was destroyed before its queue");
            return SoftwareDevice.EBUSY;
        }
        channel.close();
        device.destroyed(channel);
        return 0;
    }

    @Override
    public IbvCQ createCQ(IbvContext context, IbvCompChannel channel, int entries, int vector)
            throws IOException {
        return made(new SoftwareCq(device, context, (SoftwareCompChannel) channel, entries));
    }

    @Override
    public int destroyCQ(IbvCQ queue) {
        SoftwareCq mine = (SoftwareCq) queue;
        if (mine.users.get() > 0) {
            device.provider.problem("A completion queue was destroyed before its queue pairs");
            return SoftwareDevice.EBUSY;
        }
        if (mine.unacknowledged.get() > 0) {
            device.provider.problem(
                    "Destroying a queue with events that are not acknowledged hangs");
        }
        queue.close();
        device.destroyed(queue);
        ((SoftwareCompChannel) queue.getChannel()).users.decrementAndGet();
        return 0;
    }

    @Override
    public boolean getCqEvent(IbvCompChannel channel, IbvCQ queue, int timeout) throws IOException {
        if (!channel.isOpen()) {
            throw new IOException("Trying to get CQ event on closed completion channel.");
        }
        boolean isTold = ((SoftwareCompChannel) channel).next(timeout);
        if (device.provider.failsNotifications()) {
            ((SoftwareCq) queue).unacknowledged.set(0);
            throw new IOException("Trying to get CQ event failed");
        }
        return isTold;
    }

    @Override
    public int ackCqEvents(IbvCQ queue, int count) {
        ((SoftwareCq) queue).unacknowledged.addAndGet(-count);
        return 0;
    }

    @Override
    public SVCReqNotify reqNotifyCQ(IbvCQ queue, boolean solicitedOnly) {
        return new Calls.ReqNotify((SoftwareCq) queue);
    }

    @Override
    public SVCPollCq pollCQ(IbvCQ queue, IbvWC[] to, int most) {
        return new Calls.PollCq((SoftwareCq) queue, to, most);
    }

    @Override
    public SVCPostSend postSend(IbvQP queuePair, List<IbvSendWR> requests, List<IbvSendWR> bad) {
        return new PostSendCall((SoftwareQueuePair) queuePair, requests);
    }

    @Override
    public SVCPostRecv postRecv(IbvQP queuePair, List<IbvRecvWR> requests, List<IbvRecvWR> bad) {
        return new Calls.PostRecv((SoftwareQueuePair) queuePair, requests);
    }

    @Override
    public SVCRegMr regMr(IbvPd pd, ByteBuffer buffer, int access) {
        ByteBuffer whole = buffer.duplicate().clear();
        return new Calls.RegMr(() -> register((SoftwarePd) pd, whole, access));
    }

    @Override
    public SVCRegMr regMr(IbvPd pd, long address, int length, int access) {
        return new Calls.RegMr(() -> register((SoftwarePd) pd, memory(address, length), access));
    }

    private ByteBuffer memory(long address, int length) {
        return device.regions.values().stream()
                .map(region -> region.range(address, length))
                .filter(Objects::nonNull)
                .findAny()
                .orElseGet(() -> PlatformDependent.directBuffer(address, length));
    }

    private SoftwareMr register(SoftwarePd domain, ByteBuffer buffer, int access)
            throws IOException {
        int length = buffer.capacity();
        if (device.registered.addAndGet(length) > device.provider.memoryLimit()) {
            device.registered.addAndGet(-length);
            throw new IOException("j2c::regMr: ibv_reg_mr failed: Cannot allocate memory\n");
        }
        int rights = 0;
        if ((access & IbvMr.IBV_ACCESS_REMOTE_READ) != 0) {
            rights |= QueuePair.REMOTE_READ;
        }
        if ((access & IbvMr.IBV_ACCESS_REMOTE_WRITE) != 0) {
            rights |= QueuePair.REMOTE_WRITE;
        }
        int remoteRights = rights;
        SoftwareMr made =
                device.call(
                        () -> {
                            MemoryRegion region =
                                    device.context()
                                            .register(
                                                    buffer,
                                                    PlatformDependent.directBufferAddress(buffer));
                            int key =
                                    remoteRights == 0 ? 0 : device.rnic.open(region, remoteRights);
                            return new SoftwareMr(domain, region, buffer, access, key);
                        });
        domain.regions.incrementAndGet();
        device.regions.put(made.getLkey(), made);
        return made(made);
    }

    @Override
    public SVCDeregMr deregMr(IbvMr region) {
        return new Calls.DeregMr(
                () -> {
                    SoftwareMr mine = (SoftwareMr) region;
                    if (!mine.isOpen()) {
                        device.provider.problem("A region was deregistered twice");
                        throw new IOException("ibv_dereg_mr failed: Invalid argument");
                    }
                    mine.close();
                    device.destroyed(mine);
                    mine.domain.regions.decrementAndGet();
                    device.regions.remove(mine.getLkey());
                    device.registered.addAndGet(-mine.getLength());
                    device.call(
                            () -> {
                                mine.region.deregister();
                                return null;
                            });
                    if (device.provider.failsDeregistrations()) {
                        throw new IOException("ibv_dereg_mr failed: Input/output error");
                    }
                    return mine;
                });
    }

    @Override
    public int queryOdpSupport(IbvContext context) {
        return NO_ODP;
    }

    @Override
    public int expPrefetchMr(IbvMr region, long address, int length) {
        return NO_ODP;
    }
}
