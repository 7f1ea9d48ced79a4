# Proves: a server of ours calls the Linux client back over the connection that the client has made (RFC 8167).
port=$(free_port 20049)
java_program CallingServer "$port" >"$work/server.log" 2>&1 &
server_pid=$!
pids+=("$server_pid")
if wait_says 60 "$work/server.log" '^READY' "$server_pid"; then
    start_guest backchannel "PORT=$port" -- --timeout 900
    wait "$server_pid" || true
    tell go
    finish_guest
    report "$work/server.log"
    at_least "checks of the server" 6 "$(grep -c '^ok' "$work/server.log" || true)"
else
    fail "the server starts" "$(tail -3 "$work/server.log" | tr '\n' '|')"
fi
