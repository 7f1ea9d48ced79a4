// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/**
 * What a device can do. What it cannot do the layer above replaces by rule.
 *
 * @param maxScatterGather the most memory ranges in one work request
 * @param maxReadDepth the most RDMA Reads outstanding in one direction of a connection
 * @param maxPrivateData the most bytes of connection private data in one direction; 0 when there is none
 * @param privateDataOnAccept whether a passive endpoint can read and send private data
 * @param exactExposure whether {@link QueuePair#expose} gives access to the exact range and no more
 * @param cheapRegistration whether registering memory costs so little that it may be done for each call
 * @param sendWithInvalidate whether a peer can be asked to invalidate
 * @param remoteInvalidation whether a peer may invalidate here; where it may not, it must not be told that it may
 * @param rejectWithData whether {@link ConnectionRequest#reject} carries its data to the peer; where it does not, the peer may
 *     not tell the rejection from a port where nobody listens
 * @param disconnectCause whether {@link QueuePairHandler#disconnected} always tells a broken connection from an orderly end;
 *     where it does not, a connection that was broken by the peer may end without a cause
 * @param keyPerConnection whether a key that is exposed on one queue pair is of no use to the peers of others; where it is of
 *     use to all peers of a context, peers that must not meet belong on different event loops
 * @param ipv6 whether addresses may be of IPv6
 */
public record DeviceCapabilities(
        int maxScatterGather,
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
        boolean ipv6) {}
