// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

/**
 * Notices a server that goes round in circles: cookies are opaque and need not grow, but one that comes again leads to
 * the same pages again. Brent's method: one cookie is kept, for twice as many pages each time.
 */
final class CookieWatch {

    /** At first the one that every listing starts with (RFC 1813, 3.3.16). */
    private long kept;

    private long pages;
    private long limit = 1;

    boolean isRepeated(long cookie) {
        if (cookie == kept) {
            return true;
        }
        if (++pages == limit) {
            kept = cookie;
            limit *= 2;
            pages = 0;
        }
        return false;
    }
}
