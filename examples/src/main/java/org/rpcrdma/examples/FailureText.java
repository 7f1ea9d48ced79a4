// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.net.UnknownHostException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** What a failure means, in words for a person. Java puts half of that into the names of its exceptions. */
final class FailureText {

    private FailureText() {}

    static String of(Throwable failure) {
        String message = failure.getMessage();
        if (failure instanceof UnknownHostException) {
            return "unknown host " + message;
        } else if (failure instanceof NoSuchFileException) {
            return message + ": no such file or directory";
        } else if (failure instanceof NotDirectoryException) {
            return message + ": not a directory";
        } else if (failure instanceof AccessDeniedException) {
            return message + ": permission denied";
        } else if (failure instanceof FileAlreadyExistsException) {
            return message + ": exists already";
        }
        return message == null || message.isBlank() ? failure.getClass().getSimpleName() : message;
    }
}
