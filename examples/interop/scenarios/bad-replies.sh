# Proves: the Linux client fails one call for each reply that RFC 8166 forbids, and goes on.
port=$(free_port 20049)
mount_port=$(free_port 20048)
mkdir -p "$work/export" "$work/job"
head -c 300001 /dev/urandom >"$work/export/file"
cp "$work/export/file" "$work/job/file"
java_program SpoilingServer "$work/export" "$work/handle.key" "$port" "$mount_port" >"$work/server.log" 2>&1 &
server_pid=$!
pids+=("$server_pid")
if wait_says 60 "$work/server.log" '^READY' "$server_pid"; then
    start_guest bad-replies "PORT=$port" "MOUNT_PORT=$mount_port" -- --timeout 900
    finish_guest
    at_most "stack traces in the server's log" 0 "$(grep -cE '^[[:space:]]+at ' "$work/server.log" || true)"
else
    fail "the server starts" "$(tail -3 "$work/server.log" | tr '\n' '|')"
fi
