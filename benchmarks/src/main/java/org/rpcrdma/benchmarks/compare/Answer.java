// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

/**
 * One line of JSON that a {@link Worker} writes.
 *
 * @param problem what went wrong; {@code null} when nothing did
 * @param address where it listens
 * @param window what {@code RUN} has found
 * @param cost of the process
 */
record Answer(String problem, String address, Window window, Cost cost) {}
