# Proves: the software RNIC alone speaks with soft-iWARP, by four tools of perftest, both roles, CRC off and on, small frames.
mkdir -p "$work/job"
(java_program Perftest cases) >"$work/job/cases"
theirs=""
ours=""
forwards=()
i=0
while read -r _ _ _ _ roles _; do
    p=$(free_port $((18515 + i)))
    theirs+=" $p"
    [ "$roles" = server ] || ours+=" $(free_port $((18615 + i)))"
    forwards+=(--forward "$p:$((18515 + i))")
    i=$((i + 1))
done <"$work/job/cases"
at_least "cases of perftest" 16 "$i"
start_guest perftest "PORTS='$ours'" -- --timeout 1500 --wire "$work/wire.pcap" "${forwards[@]}"
if guest_says READY; then
    # shellcheck disable=SC2086 # ports
    probe Perftest client $theirs
    at_least "tools that had their client" "$i" "$(grep -cE '^(ok|FAIL) ' "$work/Perftest.log" || true)"
    if grep -q '^FAIL ' "$work/Perftest.log"; then
        tell stop
        finish_guest
    else
        # shellcheck disable=SC2086 # ports
        java_program Perftest server $ours >"$work/server.log" 2>&1 &
        server_pid=$!
        pids+=("$server_pid")
        if wait_says 60 "$work/server.log" '^READY' "$server_pid"; then tell go; else tell stop; fi
        finish_guest
        wait_for 20 not_alive "$server_pid" || true
        report "$work/server.log"
        at_least "tools that had their server" "$(wc -w <<<"$ours")" "$(grep -cE '^(ok|FAIL) ' "$work/server.log" || true)"
        at_most "leaks that the server reports" 0 "$(grep -c 'LEAK:' "$work/server.log" || true)"
    fi
else
    finish_guest
fi
