/** The verbs layer alone, beside a bare socket and Netty's epoll transport that move the same bytes. */
package org.rpcrdma.benchmarks.verbs;
