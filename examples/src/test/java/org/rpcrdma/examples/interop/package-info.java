/**
 * What the kernel interoperability suite ({@code examples/interop}) runs on the host: programs that print one line
 * for each check. The build runs those that can do without a kernel against the example's own server, so that they
 * stay sound.
 */
package org.rpcrdma.examples.interop;
