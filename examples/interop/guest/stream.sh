# Programs on rsockets, both roles, with soft-iWARP. PORT of the host's echo server is in /job/env.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
host=10.0.2.2
timeout 800 rstream -p 7471 -b 10.0.2.15 -T b -T v -I 50 -C 1 -S 64 >/out/server.1 2>&1 &
timeout 800 rstream -p 7472 -b 10.0.2.15 -T b -T v -I 5 -C 1 -S 300000 >/out/server.2 2>&1 &
timeout 800 rstream -p 7473 -b 10.0.2.15 -T b -T v -k 1 -I 20 -C 1 -S 4097 >/out/server.3 2>&1 &
# netcat IN OUT OPTION...
netcat() {
    timeout 800 env LD_PRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so /job/nc.traditional -n "${@:3}" <"$1" >"$2" 2>/out/netcat.log
}
if [ -x /job/nc.traditional ]; then
    perl -e 'print pack("C*", map { $_ & 255 } 0 .. 99999)' >/tmp/ramp
    netcat /tmp/ramp /tmp/from-client -l -p 7474 &
    netcat=$!
fi
echo READY
read -r -t 900 line
check "rstream, 64 bytes" timeout 200 rstream -s $host -p "$PORT" -T v -I 50 -C 1 -S 64
check "rstream, 65536 bytes" timeout 200 rstream -s $host -p "$PORT" -T v -I 10 -C 1 -S 65536
check "rstream, 300000 bytes, blocking" timeout 200 rstream -s $host -p "$PORT" -T b -T v -I 5 -C 1 -S 300000
check "rstream, 200000 bytes, async, keep-alive" timeout 200 rstream -s $host -p "$PORT" -T a -T v -k 1 -I 5 -C 1 -S 200000
if [ -x /job/stream ]; then
    check "a million bytes both ways at once, half-close" timeout 200 /job/stream $host "$PORT" echo 1000000 65536 384 0
    check "5000 small writes both ways at once" timeout 200 /job/stream $host "$PORT" echo 185000 37 384 0
    check "queues of 16" timeout 200 /job/stream $host "$PORT" echo 40000 37 16 0
    check "a reader that sleeps" timeout 200 /job/stream $host "$PORT" echo 2000000 65536 384 2
    check "a program that dies" timeout 200 /job/stream $host "$PORT" die 100000 1000 384 0
fi
# A program for direct writes is refused: the table of our end has no room for them.
timeout 60 riostream -s $host -p "$PORT" -I 2 -C 1 -S 1000 >/out/riostream 2>&1
status=$?
if [ $status != 0 ] && [ $status != 124 ]; then ok "riostream is refused"; else fail "riostream is refused" "exit $status: $(tail -3 /out/riostream | tr '\n' '|')"; fi
if [ -x /job/nc.traditional ]; then
    wait $netcat
    check "netcat as a server has got what our client sent" cmp /tmp/from-client /tmp/ramp
    netcat /tmp/ramp /tmp/from-server -q 5 -w 30 $host "$PORT"
    check "netcat as a client gets its bytes back" cmp /tmp/from-server /tmp/ramp
fi
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
