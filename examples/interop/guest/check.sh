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
