# What every job uses: one line per check, which the host counts.

# ok WHAT / fail WHAT [DETAIL]
ok() { echo "ok $*"; }
fail() {
    local what=$1
    shift
    echo "FAIL $what${*:+: $*}"
}

# check WHAT COMMAND...: the command succeeds; its output is shown when it does not.
check() {
    local what=$1 log status
    shift
    log=$("$@" 2>&1)
    status=$?
    if [ $status = 0 ]; then ok "$what"; else fail "$what" "exit $status: $(echo "$log" | tail -5 | tr '\n' '|')"; fi
}

# same WHAT EXPECTED ACTUAL
same() {
    if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "expected '$2', got '$3'"; fi
}

# at_least WHAT LIMIT ACTUAL
at_least() {
    if [ "${3:-0}" -ge "$2" ]; then ok "$1 ($3)"; else fail "$1" "$3, expected at least $2"; fi
}

# rpinged SECONDS ARGUMENT...: rdma-core's rping, as a client. When all is done, its thread for events may find them closed by the main
# one, and ends the process with 255; a ping that fails says more than that.
rpinged() {
    local log status
    log=$(timeout "$1" rping -c "${@:2}" 2>&1)
    status=$?
    [ "$status $(sort <<<"$log")" != $'255 client DISCONNECT EVENT...\nrdma_get_cm_event: Bad file descriptor' ] || return 0
    echo "$log"
    return $status
}

drop_caches() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
}

# What a quiet machine does not say.
kernel_log_is_quiet() {
    local lines
    lines=$(dmesg | grep -E 'not responding|BUG:|WARNING:|Oops|Call Trace|nfs: RPC|rpcrdma: .*(fail|bad|error)' | head -5)
    [ -z "$lines" ] || {
        echo "$lines"
        return 1
    }
}
