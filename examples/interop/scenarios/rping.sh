# Proves: the software RNIC alone speaks with soft-iWARP, by rdma-core's rping, both roles, CRC off and on, small frames.
ports="$(free_port 7001) $(free_port 7002) $(free_port 7003) $(free_port 7004)"
port=$(free_port 7174)
# shellcheck disable=SC2086 # four ports
java_program Rping server $ports >"$work/server.log" 2>&1 &
server_pid=$!
pids+=("$server_pid")
if wait_says 60 "$work/server.log" '^READY' "$server_pid"; then
    start_guest rping "PORTS='$ports'" -- --timeout 900 --wire "$work/wire.pcap" --forward "$port:7174"
    if guest_says READY; then
        probe Rping client "$port"
        tell go
    fi
    finish_guest
    at_least "clients that the server has served to their end" 16 "$(grep -c '^SERVED 50$' "$work/server.log" || true)"
    at_most "failures of the server" 0 "$(grep -c '^FAIL' "$work/server.log" || true)"
else
    fail "the server starts" "$(tail -3 "$work/server.log" | tr '\n' '|')"
fi
