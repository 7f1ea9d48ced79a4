// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.SVCDeregMr;
import com.ibm.disni.verbs.SVCPollCq;
import com.ibm.disni.verbs.SVCPostRecv;
import com.ibm.disni.verbs.SVCRegMr;
import com.ibm.disni.verbs.SVCReqNotify;
import java.io.IOException;
import java.util.List;

/** DiSNI's call objects that have next to no state. */
final class Calls {

    private Calls() {}

    /** What a call does. */
    interface Action {
        SoftwareMr perform() throws IOException;
    }

    static final class RegMr extends SVCRegMr {
        private final Action action;
        private boolean isValid = true;
        private IbvMr region;

        RegMr(Action action) {
            this.action = action;
        }

        @Override
        public SVCRegMr execute() throws IOException {
            region = action.perform();
            return this;
        }

        @Override
        public IbvMr getMr() {
            return region;
        }

        @Override
        public boolean isValid() {
            return isValid;
        }

        @Override
        public SVCRegMr free() {
            isValid = false;
            return this;
        }
    }

    static final class DeregMr extends SVCDeregMr {
        private final Action action;
        private boolean isValid = true;

        DeregMr(Action action) {
            this.action = action;
        }

        @Override
        public SVCDeregMr execute() throws IOException {
            action.perform();
            return this;
        }

        @Override
        public boolean isValid() {
            return isValid;
        }

        @Override
        public SVCDeregMr free() {
            isValid = false;
            return this;
        }
    }

    static final class ReqNotify extends SVCReqNotify {
        private final SoftwareCq queue;
        private boolean isValid = true;

        ReqNotify(SoftwareCq queue) {
            this.queue = queue;
        }

        @Override
        public SVCReqNotify execute() throws IOException {
            if (!queue.isOpen()) {
                throw new IOException("Trying to execute reqNotifyCQ() on closed CQ.");
            }
            queue.arm();
            return this;
        }

        @Override
        public boolean isValid() {
            return isValid;
        }

        @Override
        public SVCReqNotify free() {
            isValid = false;
            return this;
        }
    }

    static final class PollCq extends SVCPollCq {
        private final SoftwareCq queue;
        private final IbvWC[] to;
        private final int most;
        private boolean isValid = true;
        private int count;

        PollCq(SoftwareCq queue, IbvWC[] to, int most) {
            this.queue = queue;
            this.to = to;
            this.most = most;
        }

        @Override
        public SVCPollCq execute() throws IOException {
            count = 0;
            if (!queue.isOpen()) {
                throw new IOException("Trying to poll closed CQ.");
            }
            count = queue.take(to, most);
            return this;
        }

        @Override
        public int getPolls() {
            return count;
        }

        @Override
        public boolean isValid() {
            return isValid;
        }

        @Override
        public SVCPollCq free() {
            isValid = false;
            return this;
        }
    }

    static final class PostRecv extends SVCPostRecv {
        private final SoftwareQueuePair queuePair;
        private final List<ReceiveRequest> requests;
        private boolean isValid = true;

        PostRecv(SoftwareQueuePair queuePair, List<IbvRecvWR> requests) {
            this.queuePair = queuePair;
            this.requests =
                    requests.stream()
                            .map(
                                    request ->
                                            new ReceiveRequest(
                                                    request.getWr_id(),
                                                    Range.copies(request.getSg_list())))
                            .toList();
        }

        @Override
        public RecvWRMod getWrMod(int index) {
            return requests.get(index)::workId;
        }

        @Override
        public SVCPostRecv execute() throws IOException {
            queuePair.postReceives(requests);
            return this;
        }

        @Override
        public boolean isValid() {
            return isValid;
        }

        @Override
        public SVCPostRecv free() {
            isValid = false;
            return this;
        }
    }
}
