// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.SVCPostSend;
import java.io.IOException;
import java.util.List;

/** A call that posts the same work requests each time it is executed, with what was changed since. */
final class PostSendCall extends SVCPostSend {

    private final SoftwareQueuePair queuePair;
    private final List<Changeable> requests;
    private boolean isValid = true;

    PostSendCall(SoftwareQueuePair queuePair, List<IbvSendWR> requests) {
        this.queuePair = queuePair;
        this.requests = requests.stream().map(Changeable::new).toList();
    }

    @Override
    public SendWRMod getWrMod(int index) {
        return requests.get(index);
    }

    @Override
    public SVCPostSend execute() throws IOException {
        queuePair.postSends(requests.stream().map(Changeable::copy).toList());
        return this;
    }

    @Override
    public boolean isValid() {
        return isValid;
    }

    @Override
    public SVCPostSend free() {
        isValid = false;
        return this;
    }

    /** A work request as it will be posted. */
    private static final class Changeable implements SendWRMod, RdmaMod {
        private final int opcode;
        private final int immediate;
        private final List<ChangeableRange> ranges;
        private long workId;
        private int flags;
        private long remoteAddress;
        private int remoteKey;
        private int reserved;

        Changeable(IbvSendWR request) {
            opcode = request.getOpcode();
            immediate = request.getImm_data();
            workId = request.getWr_id();
            flags = request.getSend_flags();
            remoteAddress = request.getRdma().getRemote_addr();
            remoteKey = request.getRdma().getRkey();
            ranges = request.getSg_list().stream().map(ChangeableRange::new).toList();
        }

        SendRequest copy() {
            return new SendRequest(
                    workId,
                    opcode,
                    flags,
                    immediate,
                    remoteAddress,
                    remoteKey,
                    ranges.stream().map(ChangeableRange::copy).toList());
        }

        @Override
        public void setWr_id(long id) {
            workId = id;
        }

        @Override
        public long getWr_id() {
            return workId;
        }

        @Override
        public void setSend_flags(int sendFlags) {
            flags = sendFlags;
        }

        @Override
        public int getSend_flags() {
            return flags;
        }

        @Override
        public int getNum_sge() {
            return ranges.size();
        }

        @Override
        public int getOpcode() {
            return opcode;
        }

        @Override
        public RdmaMod getRdmaMod() {
            return this;
        }

        @Override
        public SgeMod getSgeMod(int index) {
            return ranges.get(index);
        }

        @Override
        public void setRemote_addr(long address) {
            remoteAddress = address;
        }

        @Override
        public long getRemote_addr() {
            return remoteAddress;
        }

        @Override
        public void setRkey(int key) {
            remoteKey = key;
        }

        @Override
        public int getRkey() {
            return remoteKey;
        }

        @Override
        public void setReserved(int value) {
            reserved = value;
        }

        @Override
        public int getReserved() {
            return reserved;
        }
    }

    private static final class ChangeableRange implements SgeMod {
        private long address;
        private int length;
        private int key;

        ChangeableRange(IbvSge range) {
            address = range.getAddr();
            length = range.getLength();
            key = range.getLkey();
        }

        Range copy() {
            return new Range(address, length, key);
        }

        @Override
        public void setAddr(long newAddress) {
            address = newAddress;
        }

        @Override
        public long getAddr() {
            return address;
        }

        @Override
        public void setLength(int newLength) {
            length = newLength;
        }

        @Override
        public int getLength() {
            return length;
        }

        @Override
        public void setLkey(int newKey) {
            key = newKey;
        }

        @Override
        public int getLkey() {
            return key;
        }
    }
}
