# perftest's tools, both roles, with soft-iWARP. PORTS of the host's servers are in /job/env; /job/cases says what to run.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
device=siw0
. /job/guest/perftools.sh

what() {
    local name size configuration
    read -r name size _ _ _ configuration <<<"${cases[$1]}"
    echo "$name, $size bytes: $configuration"
}

# ended ROLE CASE STATUS
ended() {
    if [ "$3" = 0 ]; then ok "$1 $(what "$2")"; else fail "$1 $(what "$2")" "exit $3: $(tail -3 "/out/$1.$2" | tr '\n' '|')"; fi
}

pids=()
for i in "${!cases[@]}"; do
    (tool "$i" $((18515 + i))) >"/out/server.$i" 2>&1 &
    pids+=($!)
done
echo READY
# The host says so when each server has had its client: the others would end by their time limit alone.
read -r -t 900 line
if [ "$line" = go ]; then
    for i in "${!cases[@]}"; do
        wait "${pids[i]}"
        ended server "$i" $?
    done
    read -r -a ports <<<"$PORTS"
    next=0
    for i in "${!cases[@]}"; do
        read -r _ _ _ _ roles _ <<<"${cases[i]}"
        [ "$roles" = both ] || continue
        status=0
        (tool "$i" "${ports[next]}" 10.0.2.2) >"/out/client.$i" 2>&1 || status=$?
        ended client "$i" $status
        [ $status = 0 ] || break # its server may wait for what does not come, while the next ones give up
        next=$((next + 1))
    done
fi
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
