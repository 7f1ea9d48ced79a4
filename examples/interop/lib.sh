# What the scenarios share. Sourced by run, which sets root, here, out, and for each scenario: scenario, work.

pids=()

# result LINE: one line of the report, 'ok ...', 'FAIL ...', 'SKIP ...' for what this machine lacks, or 'NOTE ...' for what nobody has asked for.
result() {
    echo "   $1"
    echo "${1%% *} $scenario: ${1#* }" >>"$out/results"
}

ok() { result "ok $*"; }

fail() {
    local what=$1
    shift
    result "FAIL $what${*:+: $*}"
}

# check WHAT COMMAND...: the command succeeds; the end of its output is shown when it does not.
check() {
    local what=$1 status=0
    shift
    "$@" >"$work/check.log" 2>&1 || status=$?
    if [ $status = 0 ]; then ok "$what"; else fail "$what" "exit $status: $(tail -3 "$work/check.log" | tr '\n' '|')"; fi
}

# at_most WHAT LIMIT ACTUAL
at_most() {
    if [ "$3" -le "$2" ]; then ok "$1 ($3, limit $2)"; else fail "$1" "$3, limit $2"; fi
}

# at_least WHAT LIMIT ACTUAL
at_least() {
    if [ "$3" -ge "$2" ]; then ok "$1 ($3)"; else fail "$1" "$3, expected at least $2"; fi
}

# wait_for SECONDS COMMAND...: polls until the command succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

alive() { kill -0 "$1" 2>/dev/null; }

# says FILE PATTERN PID: true once the file has the pattern; false, and the end of waiting, once the process is gone.
says() { grep -aqE "$2" "$1" 2>/dev/null || { ! alive "$3" && ! grep -aqE "$2" "$1" 2>/dev/null && gone=1; }; }

# wait_says SECONDS FILE PATTERN PID
wait_says() {
    gone=""
    wait_for "$1" says "$2" "$3" "$4" && [ -z "$gone" ]
}

stop_all() {
    local p
    for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
    for p in "${pids[@]}"; do wait "$p" 2>/dev/null || true; done
    pids=()
}

# free_port PREFERRED: that port of the loopback when nobody listens there, else another one.
free_port() {
    local p=$1
    while (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null; do p=$((21000 + RANDOM % 9000)); done
    echo "$p"
}

# start_server EXPORT [OPTION...]: serve-nfs on free ports. Sets port, mount_port, server_pid (of the JVM).
start_server() {
    local dir=$1 launcher
    shift
    port=$(free_port 20049)
    mount_port=$(free_port 20048)
    "$root/rpcrdma" serve-nfs --export "$dir" --no-root-squash --port "$port" --mount-port "$mount_port" --tcp-port "$(free_port 20050)" "$@" \
        >"$work/server.log" 2>&1 &
    launcher=$!
    pids+=("$launcher")
    if ! wait_for 120 listens_three_times "$launcher" || ! alive "$launcher"; then
        fail "serve-nfs starts" "$(tail -3 "$work/server.log" | tr '\n' '|')"
        return 1
    fi
    server_pid=$launcher
    [ "$(basename "$(readlink "/proc/$launcher/exe")")" = java ] || server_pid=$(pgrep -P "$launcher" java)
}

listens_three_times() { [ "$(grep -cs "^listening" "$work/server.log" || true)" = 3 ] || ! alive "$1"; }

stop_server() {
    local status=0
    kill -TERM "$server_pid"
    wait_for 30 not_alive "$server_pid" || {
        fail "SIGTERM ends the server" "it still runs after 30 s"
        kill -KILL "$server_pid"
        return
    }
    ok "SIGTERM ends the server"
    if grep -aE 'LEAK:|OutOfMemoryError|StackOverflowError' "$work/server.log" >"$work/bad.log"; then
        fail "the server's log has no leak and no error" "$(head -1 "$work/bad.log")"
    else ok "the server's log has no leak and no error"; fi
    # What peers do is a line each, and never a surprise.
    at_most "stack traces in the server's log" 0 "$(grep -cE '^[[:space:]]+at ' "$work/server.log" || true)"
}

not_alive() { ! alive "$1"; }

# start_guest JOB [ENV_LINE...] [-- LAB_OPTION...]: boots the lab with guest/JOB.sh. Its files come from $work/job,
# its output goes to $work/JOB.log; 'tell' writes to its standard input. Sets guest_pid (lab.sh).
start_guest() {
    guest=$1
    shift
    mkdir -p "$work/job"
    rm -rf "$work/job/guest"
    cp -r "$here/guest" "$work/job/guest"
    cp "$here/guest/$guest.sh" "$work/job/job.sh"
    : >"$work/job/env"
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        echo "$1" >>"$work/job/env"
        shift
    done
    [ "${1:-}" = -- ] && shift
    rm -f "$work/$guest.in" "$work/$guest.pid"
    mkfifo "$work/$guest.in"
    exec 9<>"$work/$guest.in" # open at both ends, so that nobody waits and nobody sees an end
    "$here/lab.sh" run --out "$work/$guest.out" --input "$work/$guest.in" --pid-file "$work/$guest.pid" "$@" "$work/job" \
        >"$work/$guest.log" 2>&1 &
    guest_pid=$!
    pids+=("$guest_pid")
}

# guest_says WORD: waits until a line of the guest begins with it, however slow its machine is; its time-out ends one that never does.
guest_says() {
    wait_says 3000 "$work/$guest.log" "^$1" "$guest_pid" && return 0
    fail "the guest says $1" "$(tail -3 "$work/$guest.log" | tr '\n' '|')"
    return 1
}

tell() { echo "$*" >&9; }

qemu_pid() { cat "$work/$guest.pid"; }

# finish_guest: waits for the end of the guest and reports its checks.
finish_guest() {
    wait "$guest_pid" || true
    exec 9>&-
    cat "$work/$guest.out/unread" >>"$work/unread" 2>/dev/null || true # the next guest may have the same name
    report "$work/$guest.log"
    grep -aq '^DONE' "$work/$guest.log" || fail "the guest runs to its end" "$(tail -3 "$work/$guest.log" | tr '\n' '|')"
}

# report LOG: the checks in the output of a guest or a program.
report() {
    local line
    while IFS= read -r line; do result "$line"; done < <(grep -aE '^(ok|FAIL|NOTE) ' "$1")
}

# soft_iwarp_erred ATTEMPT: soft-iWARP of Linux 6.1 has defects that no peer can avoid (docs/software-rnic.md). True when one of
# them is why checks failed. Then the failures become notes and the scenario is run again, twice at most.
soft_iwarp_erred() {
    # Not by 'grep -q': it ends at the first one, and tail may fail then by what it still has to write.
    [ "$(tail -n +$((before + 1)) "$out/results" | grep -c '^FAIL ')" -gt 0 ] || return
    [ "$1" -lt 3 ] || return
    soft_iwarp_left_bytes || soft_iwarp_erred_on_the_wire || return
    sed -i "$((before + 1)),\$ s/^FAIL /NOTE /" "$out/results"
}

# A first message came between its MPA Reply and its listening to the socket, as the guest's TCP says, whose queue still has it.
soft_iwarp_left_bytes() {
    local left
    left=$(head -1 "$work/unread" 2>/dev/null)
    [ -n "$left" ] || return
    result "NOTE soft-iWARP left bytes in TCP's receive queue for 20 s or more: $left"
}

# It loses its place in what it receives when a TCP segment ends at certain places of an FPDU; it may send an FPDU whose CRC counts a
# part of it twice; and its programs end a connection with their last bytes on the way, which TCP gives up when others come. So says
# a program that shares no code with ours and has read all that crossed the guest's network card.
soft_iwarp_erred_on_the_wire() {
    local errors wrong risky twice resets
    [ -f "$work/wire.pcap" ] || return
    "${JAVA_HOME:+$JAVA_HOME/bin/}java" "$here/Resegment.java" "$work/wire.pcap" "$work/frames.pcap" >"$work/wire.streams" 2>"$work/wire.log" || return
    errors=$(cat "$work"/*.out/dmesg 2>/dev/null | grep -c 'siw: crc error' || true)
    wrong=$(awk '{ n += $6 } END { print n + 0 }' "$work/wire.streams")
    risky=$(awk '{ n += $8 } END { print n + 0 }' "$work/wire.streams")
    twice=$(awk '$10 == "10.0.2.15" { n += $9 } END { print n + 0 }' "$work/wire.streams") # the guest's
    resets=$(awk '$10 == "10.0.2.15" && $1 < $2 && $11 > 0 { n++ } END { print n + 0 }' "$work/wire.streams") # the guest is the server
    [ "$wrong" = "$twice" ] || return # a wrong CRC of ours, or one without a cause that is known
    if [ "$twice" -gt 0 ]; then
        result "NOTE soft-iWARP counted a part of an FPDU twice: $twice of its CRCs are wrong in that way, and no other one is"
    elif [ "$errors" -gt 0 ] && [ "$risky" -gt 0 ]; then
        result "NOTE soft-iWARP lost its place: $errors CRC errors in its log, none of our FPDUs has a wrong one, $risky segments ended where it does"
    elif [ "$resets" -gt 0 ]; then
        result "NOTE a server in the guest ended a connection with bytes on their way, and its TCP reset it: $resets times"
    else
        return 1
    fi
}

have_tshark() {
    command -v tshark dumpcap >/dev/null && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq >/dev/null
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends tshark >/dev/null
    fi
    command -v tshark dumpcap >/dev/null
}

# java_program CLASS [ARGUMENT...]: one of org.rpcrdma.examples.interop, in the examples' test sources.
java_program() {
    local class=org.rpcrdma.examples.interop.$1
    shift
    exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" --add-opens java.base/java.nio=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
        -Dio.netty.leakDetection.level=paranoid -Dio.netty.leakDetection.targetRecords=0 -cp "$root/examples/target/rpcrdma.jar:$root/examples/target/test-classes" "$class" "$@"
}

# probe CLASS [ARGUMENT...]: runs a program that prints its checks, and reports them.
probe() {
    local log=$work/$1.log status=0
    (java_program "$@") >"$log" 2>&1 & # not the shell itself
    wait $! || status=$?
    report "$log"
    [ $status -le 1 ] || fail "$1 runs to its end" "exit $status: $(tail -3 "$log" | tr '\n' '|')"
    at_most "leaks that $1 reports" 0 "$(grep -c 'LEAK:' "$log" || true)"
}

# newer_jdk: the home of a JDK of version 22 or newer, nothing when there is none.
newer_jdk() {
    local home version
    for home in "${RPCRDMA_JDK22:-}" "${JAVA_HOME:-}" /usr/lib/jvm/*; do
        version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release" 2>/dev/null || true)
        if [ "${version:-0}" -ge 22 ] && [ -x "$home/bin/jlink" ]; then
            echo "$home"
            return
        fi
    done
}

# has_ffm JDK: the jar was built by such a one.
has_ffm() { [ "$("$1/bin/jar" tf "$root/examples/target/rpcrdma.jar" | grep -c FfmProviderFactory)" != 0 ]; }

# client ARGUMENT...: the commands of the launcher that call a server.
client() { timeout 120 "$root/rpcrdma" "$@"; }

# start_capture PORT: of the loopback, into $work/capture.pcap. The port is kept in $work/capture.port.
start_capture() {
    capture_pid=""
    have_tshark || return 0
    dumpcap -P -q -i lo -B 64 -f "tcp port $1" -w "$work/capture.pcap" >"$work/capture.log" 2>&1 &
    capture_pid=$!
    pids+=("$capture_pid")
    echo "$1" >"$work/capture.port"
    wait_says 30 "$work/capture.log" '^File:' "$capture_pid" || rm -f "$work/capture.pcap"
}

stop_capture() {
    [ -n "$capture_pid" ] || return 0
    kill "$capture_pid" 2>/dev/null || true
    wait "$capture_pid" 2>/dev/null || true
}

SIZES="0 1 3 4095 4096 4097 65537 1000001 20000000"

# make_sizes DIR: one file f.SIZE for each size, with random contents.
make_sizes() {
    local s
    mkdir -p "$1"
    for s in $SIZES; do head -c "$s" /dev/urandom >"$1/f.$s"; done
}

# digests DIR: in the form of sha256sum -c.
digests() { (cd "$1" && sha256sum -- *); }
