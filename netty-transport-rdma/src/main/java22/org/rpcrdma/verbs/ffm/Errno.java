// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.util.Map;

/** Messages of errno values. */
final class Errno {

    static final int EPERM = 1;
    static final int ENOENT = 2;
    static final int EAGAIN = 11;
    static final int EACCES = 13;
    static final int ENODEV = 19;
    static final int EINTR = 4;
    static final int ECONNREFUSED = 111;

    private static final Map<Integer, String> TEXTS =
            Map.ofEntries(
                    Map.entry(EPERM, "Operation not permitted (EPERM)"),
                    Map.entry(ENOENT, "No such file or directory (ENOENT)"),
                    Map.entry(EINTR, "Interrupted system call (EINTR)"),
                    Map.entry(5, "Input/output error (EIO)"),
                    Map.entry(9, "Bad file descriptor (EBADF)"),
                    Map.entry(EAGAIN, "Resource temporarily unavailable (EAGAIN)"),
                    Map.entry(12, "Cannot allocate memory (ENOMEM)"),
                    Map.entry(EACCES, "Permission denied (EACCES)"),
                    Map.entry(14, "Bad address (EFAULT)"),
                    Map.entry(16, "Device or resource busy (EBUSY)"),
                    Map.entry(ENODEV, "No such device (ENODEV)"),
                    Map.entry(22, "Invalid argument (EINVAL)"),
                    Map.entry(24, "Too many open files (EMFILE)"),
                    Map.entry(28, "No space left on device (ENOSPC)"),
                    Map.entry(38, "Function not implemented (ENOSYS)"),
                    Map.entry(95, "Operation not supported (EOPNOTSUPP)"),
                    Map.entry(97, "Address family not supported (EAFNOSUPPORT)"),
                    Map.entry(98, "Address already in use (EADDRINUSE)"),
                    Map.entry(99, "Cannot assign requested address (EADDRNOTAVAIL)"),
                    Map.entry(100, "Network is down (ENETDOWN)"),
                    Map.entry(101, "Network is unreachable (ENETUNREACH)"),
                    Map.entry(103, "Connection aborted (ECONNABORTED)"),
                    Map.entry(104, "Connection reset by peer (ECONNRESET)"),
                    Map.entry(107, "Not connected (ENOTCONN)"),
                    Map.entry(110, "Connection timed out (ETIMEDOUT)"),
                    Map.entry(ECONNREFUSED, "Connection refused (ECONNREFUSED)"),
                    Map.entry(113, "No route to host (EHOSTUNREACH)"));

    private Errno() {}

    /** The text of the C library, in English. */
    static String text(int number) {
        return TEXTS.getOrDefault(number, "error " + number);
    }

    /** A message that {@link org.rpcrdma.verbs.hardware.NativeErrorMessages} can parse. */
    static IOException failed(String call, int number) {
        return new IOException(call + " failed: " + text(Math.abs(number)));
    }

    /**
     * For calls that return -1 and set errno.
     *
     * @throws IOException when it did
     */
    static void check(NativeFunctions library, String call, int result) throws IOException {
        if (result == -1) {
            throw failed(call, library.errno());
        }
    }

    /**
     * For calls that return a pointer.
     *
     * @throws IOException when it is null
     */
    static long checkPointer(NativeFunctions library, String call, long result) throws IOException {
        if (result == 0) {
            throw failed(call, library.errno());
        }
        return result;
    }

    /**
     * For calls that return an errno, from some libraries negative.
     *
     * @throws IOException when it is not 0
     */
    static void checkNumber(String call, int result) throws IOException {
        if (result != 0) {
            throw failed(call, result);
        }
    }
}
