// SPDX-License-Identifier: Apache-2.0
/**
 * DiSNI without hardware: its own API on the software RNIC, for tests.
 * {@link org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider#install()} before DiSNI is first used is all that a
 * program needs.
 */
package org.rpcrdma.verbs.disni.software;
