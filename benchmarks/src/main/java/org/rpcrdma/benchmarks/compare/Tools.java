// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Path;

/**
 * What the sides of a worker share; all of it is the worker's.
 *
 * @param group of one event loop
 * @param memory 1 MiB for data, all of it readable
 * @param directory for files
 */
record Tools(EventLoopGroup group, ByteBuf memory, Path directory) {}
