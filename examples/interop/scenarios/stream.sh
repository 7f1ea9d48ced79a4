# Proves: byte streams with programs on librdmacm's rsockets over soft-iWARP, both roles: rstream, riostream, netcat, and one of our own.
port=$(free_port 7470)
theirs=""
forwards=()
for i in 1 2 3 4; do
    p=$(free_port $((7570 + i)))
    theirs+=" $p"
    forwards+=(--forward "$p:$((7470 + i))")
done
# The guest has no C compiler that links. A library without code stands for librdmacm here; there it has its own.
compile_program() {
    sed -n 's/^[a-z_]* \(r[a-z]*\)(.*);$/void \1(void) {}/p' "$here/guest/stream.c" >"$work/stub.c"
    gcc -shared -o "$work/librdmacm.so" -Wl,-soname,librdmacm.so.1 "$work/stub.c" &&
        gcc -std=gnu11 -O1 -Wall -Wextra -Werror -o "$work/job/stream" "$here/guest/stream.c" "-L$work" -lrdmacm
}
# Any program for sockets is one for rsockets with librspreload.so; few get along with that of Debian 12.
fetch_netcat() (
    cd "$work" && apt-get download -qq netcat-traditional && dpkg-deb -x netcat-traditional_*.deb netcat && cp netcat/bin/nc.traditional job/
)
own=0
mkdir -p "$work/job"
if echo '#include <stdio.h>' | gcc -E - >/dev/null 2>&1; then
    own=1
    check "stream.c compiles" compile_program
else
    result "NOTE stream.c is left out: there is no C compiler here"
fi
netcat=""
if fetch_netcat >"$work/netcat.log" 2>&1; then netcat=netcat; else result "NOTE netcat is left out: $(tail -1 "$work/netcat.log")"; fi
java_program Rstream server "$port" >"$work/server.log" 2>&1 &
server_pid=$!
pids+=("$server_pid")
if wait_says 60 "$work/server.log" '^READY' "$server_pid"; then
    start_guest stream "PORT=$port" -- --timeout 900 --wire "$work/wire.pcap" "${forwards[@]}"
    if guest_says READY; then
        # shellcheck disable=SC2086 # ports
        probe Rstream client $theirs $netcat
        at_least "servers that had their client" $((3 + ${#netcat} / 6)) "$(grep -cE '^ok ' "$work/Rstream.log" || true)"
        tell go
    fi
    finish_guest
    at_least "streams that the server has served to an orderly end" $((4 + 4 * own)) "$(grep -c '^SERVED' "$work/server.log" || true)"
    at_least "streams that ended without a word, as reset" "$own" "$(grep -c '^RESET' "$work/server.log" || true)"
    at_most "failures of the server" 0 "$(grep -c '^FAIL' "$work/server.log" || true)"
    at_most "leaks that the server reports" 0 "$(grep -c 'LEAK:' "$work/server.log" || true)"
else
    fail "the server starts" "$(tail -3 "$work/server.log" | tr '\n' '|')"
fi
