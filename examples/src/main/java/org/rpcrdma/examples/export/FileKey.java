// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

/**
 * What identifies a file for as long as it exists, whatever its names.
 *
 * @param device the number of its file system
 * @param inode unique within the file system among the files that exist at one time
 * @param generation tells apart files that had the same inode number one after the other; 0 where the system cannot
 */
public record FileKey(int device, long inode, long generation) {}
