// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/**
 * Capabilities and limits of a device. The layers above substitute missing capabilities. Created by a {@link Builder},
 * which names each value.
 *
 * @param maxScatterGather the most memory ranges in one work request
 * @param maxReadRanges the most memory ranges of an RDMA Read that takes one place on the send queue; a longer one
 *     takes several places
 * @param maxReadDepth the most RDMA Reads outstanding in one direction of a connection
 * @param maxPrivateData the most bytes of connection private data in one direction; 0 when there is none
 * @param privateDataOnAccept whether a passive endpoint can read and send private data
 * @param exactExposure whether {@link QueuePair#expose} gives access to the exact range and no more
 * @param cheapRegistration whether registering memory costs so little that it may be done for each call
 * @param sendWithInvalidate whether a peer can be asked to invalidate
 * @param remoteInvalidation whether a peer may invalidate here; if not, do not announce it
 * @param rejectWithData whether {@link ConnectionRequest#reject} carries its data to the peer; if not, the peer may be
 *     unable to tell a rejection from a closed port
 * @param disconnectCause whether {@link QueuePairHandler#disconnected} always tells a broken connection from an orderly
 *     end; where it does not, a connection that was broken by the peer may end without a cause
 * @param keyPerConnection whether a key exposed on one queue pair is invalid for the peers of others; if it is valid
 *     for all peers of a context, use different event loops for peers that must be isolated
 * @param ipv6 whether addresses may be of IPv6
 * @param receivesWithoutMemory whether a receive may be posted without memory, see
 *     {@link QueuePair#postReceive(long, int)}
 * @param exposesWithoutMemory whether a range may be exposed for writing without memory, see
 *     {@link QueuePair#expose(int)}
 * @param writesWithImmediate whether an RDMA Write may carry an immediate, see {@link QueuePair#writeWithImmediate}:
 *     supported by InfiniBand and RoCE if the library permits it, and never by iWARP (RFC 5040), so that protocols can
 *     tell the two kinds apart
 * @param keepAlive whether the device itself detects the loss of an idle connection's peer, see {@link
 *     QueuePair#keepAlive}; if not, an RDMA Write without data makes it check
 */
public record DeviceCapabilities(
        int maxScatterGather,
        int maxReadRanges,
        int maxReadDepth,
        int maxPrivateData,
        boolean privateDataOnAccept,
        boolean exactExposure,
        boolean cheapRegistration,
        boolean sendWithInvalidate,
        boolean remoteInvalidation,
        boolean rejectWithData,
        boolean disconnectCause,
        boolean keyPerConnection,
        boolean ipv6,
        boolean receivesWithoutMemory,
        boolean exposesWithoutMemory,
        boolean writesWithImmediate,
        boolean keepAlive) {

    /** {@return a builder for a device that can do nothing but messages from one memory range} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return a builder that begins with these capabilities} */
    public Builder toBuilder() {
        return builder()
                .maxScatterGather(maxScatterGather)
                .maxReadRanges(maxReadRanges)
                .maxReadDepth(maxReadDepth)
                .maxPrivateData(maxPrivateData)
                .privateDataOnAccept(privateDataOnAccept)
                .exactExposure(exactExposure)
                .cheapRegistration(cheapRegistration)
                .sendWithInvalidate(sendWithInvalidate)
                .remoteInvalidation(remoteInvalidation)
                .rejectWithData(rejectWithData)
                .disconnectCause(disconnectCause)
                .keyPerConnection(keyPerConnection)
                .ipv6(ipv6)
                .receivesWithoutMemory(receivesWithoutMemory)
                .exposesWithoutMemory(exposesWithoutMemory)
                .writesWithImmediate(writesWithImmediate)
                .keepAlive(keepAlive);
    }

    /**
     * Builder of capabilities; those not set are absent. The parameters are those of the record. Not thread-safe.
     */
    public static final class Builder {

        private int maxScatterGather = 1;
        private int maxReadRanges = 1;
        private int maxReadDepth;
        private int maxPrivateData;
        private boolean privateDataOnAccept;
        private boolean exactExposure;
        private boolean cheapRegistration;
        private boolean sendWithInvalidate;
        private boolean remoteInvalidation;
        private boolean rejectWithData;
        private boolean disconnectCause;
        private boolean keyPerConnection;
        private boolean ipv6;
        private boolean receivesWithoutMemory;
        private boolean exposesWithoutMemory;
        private boolean writesWithImmediate;
        private boolean keepAlive;

        private Builder() {}

        /**
         * Sets {@link DeviceCapabilities#maxScatterGather()}.
         *
         * @param value from 1
         * @return this builder
         */
        public Builder maxScatterGather(int value) {
            maxScatterGather = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#maxReadRanges()}.
         *
         * @param value from 1
         * @return this builder
         */
        public Builder maxReadRanges(int value) {
            maxReadRanges = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#maxReadDepth()}.
         *
         * @param value from 0
         * @return this builder
         */
        public Builder maxReadDepth(int value) {
            maxReadDepth = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#maxPrivateData()}.
         *
         * @param value from 0
         * @return this builder
         */
        public Builder maxPrivateData(int value) {
            maxPrivateData = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#privateDataOnAccept()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder privateDataOnAccept(boolean value) {
            privateDataOnAccept = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#exactExposure()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder exactExposure(boolean value) {
            exactExposure = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#cheapRegistration()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder cheapRegistration(boolean value) {
            cheapRegistration = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#sendWithInvalidate()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder sendWithInvalidate(boolean value) {
            sendWithInvalidate = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#remoteInvalidation()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder remoteInvalidation(boolean value) {
            remoteInvalidation = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#rejectWithData()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder rejectWithData(boolean value) {
            rejectWithData = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#disconnectCause()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder disconnectCause(boolean value) {
            disconnectCause = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#keyPerConnection()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder keyPerConnection(boolean value) {
            keyPerConnection = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#ipv6()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder ipv6(boolean value) {
            ipv6 = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#receivesWithoutMemory()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder receivesWithoutMemory(boolean value) {
            receivesWithoutMemory = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#exposesWithoutMemory()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder exposesWithoutMemory(boolean value) {
            exposesWithoutMemory = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#writesWithImmediate()}.
         *
         * @param value what it is to be
         * @return this builder
         */
        public Builder writesWithImmediate(boolean value) {
            writesWithImmediate = value;
            return this;
        }

        /**
         * Sets {@link DeviceCapabilities#keepAlive()}.
         *
         * @param value whether the device does so
         * @return this builder
         */
        public Builder keepAlive(boolean value) {
            keepAlive = value;
            return this;
        }

        /** {@return the capabilities} */
        public DeviceCapabilities build() {
            return new DeviceCapabilities(
                    maxScatterGather,
                    maxReadRanges,
                    maxReadDepth,
                    maxPrivateData,
                    privateDataOnAccept,
                    exactExposure,
                    cheapRegistration,
                    sendWithInvalidate,
                    remoteInvalidation,
                    rejectWithData,
                    disconnectCause,
                    keyPerConnection,
                    ipv6,
                    receivesWithoutMemory,
                    exposesWithoutMemory,
                    writesWithImmediate,
                    keepAlive);
        }
    }
}
