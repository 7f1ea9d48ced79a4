// SPDX-License-Identifier: Apache-2.0
// A program on rsockets: sends bytes to a server that echoes them, reads and compares, and half-closes.
//   stream HOST PORT echo|die BYTES PIECE QUEUE SECONDS
// PIECE: bytes of each rsend; QUEUE: depth of both queues; SECONDS: how long it does not read at first. 'die' ends in the middle.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// What rdma/rsocket.h says.
int rsocket(int domain, int type, int protocol);
int rconnect(int socket, const struct sockaddr *address, socklen_t length);
ssize_t rsend(int socket, const void *bytes, size_t length, int flags);
ssize_t rrecv(int socket, void *bytes, size_t length, int flags);
int rshutdown(int socket, int how);
int rclose(int socket);
int rpoll(struct pollfd *fds, nfds_t count, int millis);
int rfcntl(int socket, int command, ...);
int rsetsockopt(int socket, int level, int name, const void *value, socklen_t length);
#define SOL_RDMA 0x10000
#define RDMA_SQSIZE 0
#define RDMA_RQSIZE 1

static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static unsigned char byte_at(long index) { return (unsigned char)(index * 31 + index / 251); }

int main(int count, char **arguments) {
    if (count != 8) return 2;
    int dies = !strcmp(arguments[3], "die"), queue = atoi(arguments[6]), wait = atoi(arguments[7]);
    long bytes = atol(arguments[4]), piece = atol(arguments[5]), sent = 0, received = 0;
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[2]))};
    unsigned char *out = malloc(piece), in[65536];
    inet_pton(AF_INET, arguments[1], &server.sin_addr);
    int s = rsocket(AF_INET, SOCK_STREAM, 0);
    if (s < 0) die("rsocket");
    rsetsockopt(s, SOL_RDMA, RDMA_SQSIZE, &queue, sizeof queue);
    rsetsockopt(s, SOL_RDMA, RDMA_RQSIZE, &queue, sizeof queue);
    if (rconnect(s, (struct sockaddr *)&server, sizeof server)) die("rconnect");
    if (rfcntl(s, F_SETFL, O_NONBLOCK)) die("rfcntl");
    int sleeps = wait > 0;
    for (;;) {
        // Until nothing more can be sent.
        while (sent < bytes) {
            long n = bytes - sent < piece ? bytes - sent : piece;
            for (long i = 0; i < n; i++) out[i] = byte_at(sent + i);
            n = rsend(s, out, n, 0);
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
            if (n < 0) die("rsend");
            sent += n;
            if (sent == bytes && !dies && rshutdown(s, SHUT_WR)) die("rshutdown");
            if (!sleeps) break;
        }
        if (sleeps) {
            sleep(wait);
            sleeps = 0;
        }
        if (dies && received > bytes / 2) _exit(0);
        struct pollfd fd = {.fd = s, .events = POLLIN | (sent < bytes ? POLLOUT : 0)};
        if (rpoll(&fd, 1, 30000) <= 0) die("rpoll");
        long n = rrecv(s, in, sizeof in, 0);
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) die("rrecv");
        if (n == 0) break;
        for (long i = 0; i < n; i++)
            if (in[i] != byte_at(received + i)) {
                fprintf(stderr, "byte %ld came back changed\n", received + i);
                return 1;
            }
        if (n > 0) received += n;
    }
    if (received != bytes) {
        fprintf(stderr, "the end came after %ld of %ld bytes\n", received, bytes);
        return 1;
    }
    rclose(s);
    return 0;
}
