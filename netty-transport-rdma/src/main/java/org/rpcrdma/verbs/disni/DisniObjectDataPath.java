// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.SVCPollCq;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedList;
import java.util.List;
import org.rpcrdma.verbs.hardware.NativeMemory;
import org.rpcrdma.verbs.hardware.WorkRequestLayout;

/**
 * DiSNI's public call objects, for a {@link com.ibm.disni.verbs.RdmaProvider} that is not its native one: such a
 * provider knows objects, not structures. Makes garbage for each post, as every user of DiSNI does.
 */
final class DisniObjectDataPath implements DisniDataPath {

    private IbvWC[] results = {};
    private SVCPollCq poll;
    private IbvCQ polled;

    @Override
    public void postSend(IbvQP queuePair, NativeMemory memory, int first) throws IOException {
        List<IbvSendWR> list = new ArrayList<>();
        ByteBuffer bytes = memory.bytes;
        for (long at = memory.address(first); at != 0; ) {
            int i = memory.index(at);
            IbvSendWR request = new IbvSendWR();
            request.setWr_id(bytes.getLong(i + WorkRequestLayout.WR_ID));
            request.setOpcode(bytes.getInt(i + WorkRequestLayout.SEND_OPCODE));
            request.setSend_flags(bytes.getInt(i + WorkRequestLayout.SEND_FLAGS));
            request.setImm_data(bytes.getInt(i + WorkRequestLayout.SEND_INVALIDATE));
            request.getRdma()
                    .setRemote_addr(bytes.getLong(i + WorkRequestLayout.SEND_REMOTE_ADDRESS));
            request.getRdma().setRkey(bytes.getInt(i + WorkRequestLayout.SEND_REMOTE_KEY));
            request.setSg_list(ranges(memory, i));
            list.add(request);
            at = bytes.getLong(i + WorkRequestLayout.WR_NEXT);
        }
        queuePair.postSend(list, null).execute().free();
    }

    @Override
    public void postReceive(IbvQP queuePair, NativeMemory memory, int first) throws IOException {
        List<IbvRecvWR> list = new ArrayList<>();
        for (long at = memory.address(first); at != 0; ) {
            int i = memory.index(at);
            IbvRecvWR request = new IbvRecvWR();
            request.setWr_id(memory.bytes.getLong(i + WorkRequestLayout.WR_ID));
            request.setSg_list(ranges(memory, i));
            list.add(request);
            at = memory.bytes.getLong(i + WorkRequestLayout.WR_NEXT);
        }
        queuePair.postRecv(list, null).execute().free();
    }

    @SuppressWarnings({"JdkObsolete", "NonApiType"}) // DiSNI asks for a LinkedList
    private static LinkedList<IbvSge> ranges(NativeMemory memory, int request) {
        LinkedList<IbvSge> ranges = new LinkedList<>();
        ByteBuffer bytes = memory.bytes;
        int i = memory.index(bytes.getLong(request + WorkRequestLayout.WR_RANGES));
        for (int n = bytes.getInt(request + WorkRequestLayout.WR_RANGE_COUNT); n > 0; n--) {
            IbvSge range = new IbvSge();
            range.setAddr(bytes.getLong(i + WorkRequestLayout.RANGE_ADDRESS));
            range.setLength(bytes.getInt(i + WorkRequestLayout.RANGE_LENGTH));
            range.setLkey(bytes.getInt(i + WorkRequestLayout.RANGE_KEY));
            ranges.add(range);
            i += WorkRequestLayout.RANGE_SIZE;
        }
        return ranges;
    }

    @Override
    public int poll(IbvCQ queue, NativeMemory completions, int index, int most) throws IOException {
        if (polled != queue || results.length != most) {
            results = new IbvWC[most];
            for (int n = 0; n < most; n++) {
                results[n] = new IbvWC();
            }
            polled = queue;
            poll = queue.poll(results, most);
        }
        int count = poll.execute().getPolls();
        for (int n = 0; n < count; n++) {
            IbvWC from = results[n];
            int i = index + n * WorkRequestLayout.WC_SIZE;
            completions
                    .bytes
                    .putLong(i + WorkRequestLayout.WC_ID, from.getWr_id())
                    .putInt(i + WorkRequestLayout.WC_STATUS, from.getStatus())
                    .putInt(i + WorkRequestLayout.WC_OPCODE, from.getOpcode())
                    .putInt(i + WorkRequestLayout.WC_LENGTH, from.getByte_len())
                    .putInt(i + WorkRequestLayout.WC_INVALIDATED, from.getImm_data())
                    .putInt(i + WorkRequestLayout.WC_FLAGS, from.getWc_flags());
        }
        return count;
    }
}
