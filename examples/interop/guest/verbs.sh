# This project on native verbs: the provider PROVIDER in the guest, on soft-iWARP or on soft-RoCE. The jar is /job/rpcrdma.jar, the
# native part of DiSNI /job/libdisni.so, a Java for ffm in /job/jdk; DEVICE is siw or rxe, HOST_PORT an NFS server of the host on its
# software RNIC. /job/interop.jar has the worker, and programs that talk with those of rdma-core and perftest; /job/cases says which of perftest.
. /job/env
. /job/guest/check.sh
modprobe rdma_rxe
case $DEVICE in
siw) . /job/guest/siw.sh ;;
rxe)
    for m in rpcrdma rdma_ucm nfsv3; do modprobe $m; done
    rdma link add rxe0 type rxe netdev eth0
    mkdir -p /mnt/nfs
    ;;
esac
m=/mnt/nfs
own=10.0.2.15
ulimit -l unlimited
hostname lab
echo "$own lab" >>/etc/hosts
mkdir -p /tmp/export
head -c 300001 /dev/urandom >/tmp/export/file
head -c 3000001 /dev/urandom >/tmp/source

# The program takes the place of the shell: a background job is the program itself, and gets its signals.
exec_java() {
    cd /job && . guest/java.sh && exec "${java[@]}" "${options[@]}" -jar rpcrdma.jar "$@"
}

# The first connection of a server that has just begun takes long here.
patient="--connect-timeout 300"

# run COMMAND...: a command in the worker's JVM. It is begun again where soft-iWARP has waited for the answer to its MPA request as long
# as it does, 10 s.
run() {
    local log
    log=$(mktemp /out/run.XXXXXX)
    for _ in 1 2 3; do
        rm -f "$log.status"
        echo "$log $*" >/tmp/commands
        wait_until 600 eval "[ -f $log.status ] || not_alive $worker"
        [ -f "$log.status" ] || { echo "the worker has ended, or does not answer" && return 1; }
        grep -q 'cannot connect to .*timed out' "$log" || break
    done
    cat "$log"
    return "$(cat "$log.status")"
}

# A JVM takes long to begin here, so one runs the commands that need none of their own.
begin_worker() {
    mkfifo /tmp/commands
    exec 8<>/tmp/commands # open at both ends, so that nobody waits and nobody sees an end
    (program org.rpcrdma.examples.CommandWorker) </tmp/commands >/out/worker.log 2>&1 &
    worker=$!
}

end_worker() {
    echo >/tmp/commands
    wait_until 120 not_alive $worker && ! grep -q 'LEAK:\|Exception' /out/worker.log && ! grep -q 'LEAK:' /out/run.* && return 0
    cat /out/worker.log
    grep 'LEAK:' /out/run.*
    return 1
}

# program CLASS [ARGUMENT...]: of interop.jar, in the place of the shell, with program_options.
program_options=
program() {
    local class=$1
    shift
    [[ $class = *.* ]] || class=org.rpcrdma.examples.interop.$class
    cd /job && . guest/java.sh
    options+=($program_options --enable-native-access=ALL-UNNAMED -Dorg.rpcrdma.provider=$PROVIDER)
    [ $DEVICE = siw ] || options+=(-Drpcrdma.interop.iwarp=false)
    # What the jar's manifest says where it is begun by itself.
    [ $PROVIDER = ffm ] || options+=(--add-exports java.base/sun.nio.ch=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED
        --add-opens java.base/java.io=ALL-UNNAMED --add-opens java.base/java.nio=ALL-UNNAMED --add-opens java.base/jdk.internal.misc=ALL-UNNAMED)
    exec "${java[@]}" "${options[@]}" -cp rpcrdma.jar:interop.jar "$class" "$@"
}

# begin NAME COUNT COMMAND...: servers in the background that say READY in /out/NAME.log so many times; their process is begun.
begin() {
    local log=/out/$1.log count=$2
    shift 2
    ("$@") >"$log" 2>&1 &
    begun=$!
    wait_until 300 eval "are_ready $log $count || not_alive $begun"
    are_ready "$log" "$count" && return 0
    cat "$log"
    return 1
}

are_ready() { [ "$(grep -c '^READY' "$1")" -ge "$2" ]; }

# Programs that others wrote on the same libraries, both roles. A line of a program of ours that says ok or FAIL is a check.
peers() {
    local i ports=() size tools=() streams=("-I 50 -S 64" "-I 5 -S 300000" "-k 1 -I 20 -S 4097")
    device=${DEVICE}0
    . /job/guest/perftools.sh
    rping -s -P -a $own -p 7174 -S 65535 >/out/rping-server.log 2>&1 &
    tools+=($!)
    for i in "${!cases[@]}"; do
        (tool "$i" $((18515 + i))) >"/out/server.$i" 2>&1 &
        tools+=($!)
        ports+=("$own:$((18515 + i))")
    done
    for i in 0 1 2; do
        # shellcheck disable=SC2086 # options
        timeout 800 rstream -p $((7471 + i)) -b $own -T b -T v -C 1 ${streams[i]} >/out/rstream.$i 2>&1 &
        tools+=($!)
    done
    (program Programs Rping client $own:7174 -- Rstream client $own:7471 $own:7472 $own:7473 -- Perftest client "${ports[@]}") 2>&1
    kill "${tools[@]}" 2>/dev/null
    # With the last of perftest's servers all end.
    if begin servers 3 program Programs Rping server $own:7175 -- Rstream server $own:7474 -- \
        Perftest server $(for i in "${!cases[@]}"; do echo $own:$((18615 + i)); done); then
        for size in 64 4096 65535; do
            check "$DEVICE: rping pings our server, $size bytes" rpinged 200 -a $own -p 7175 -C 20 -S $size -V
        done
        streamed
        for i in "${!cases[@]}"; do
            (tool "$i" $((18615 + i)) $own) >"/out/client.$i" 2>&1 || echo "perftest's client $i: $(tail -3 "/out/client.$i" | tr '\n' '|')"
        done
        wait $begun
        grep -E '^(ok|FAIL) ' /out/servers.log
        at_least "$DEVICE: streams that our server has served to an orderly end" 3 "$(grep -c '^SERVED' /out/servers.log)"
        same "$DEVICE: streams that ended otherwise" 0 "$(grep -cE '^(RESET|FAIL)|LEAK:' /out/servers.log)"
    else
        fail "$DEVICE: our servers" "they did not begin"
    fi
}

# rstreamed ARGUMENT...: rdma-core's rstream, again when its connection was given up: soft-iWARP waits for an MPA Reply for 10 s, which
# a machine that emulates another one may take beside others.
rstreamed() {
    local log status
    for _ in 1 2 3; do
        log=$(timeout 200 rstream "$@" 2>&1)
        status=$?
        [[ "$status $log" = "8 "*"rpoll: Connection timed out"* ]] || break
    done
    echo "$log"
    return $status
}

# rdma-core's byte streams on ours: over soft-iWARP each message is a Send, over soft-RoCE an immediate.
streamed() {
    check "$DEVICE: rstream, 64 bytes" rstreamed -s $own -p 7474 -T v -I 50 -C 1 -S 64
    check "$DEVICE: rstream, 300000 bytes, blocking" rstreamed -s $own -p 7474 -T b -T v -I 5 -C 1 -S 300000
    check "$DEVICE: rstream, 200000 bytes, async, keep-alive" rstreamed -s $own -p 7474 -T a -T v -k 1 -I 5 -C 1 -S 200000
}

# verified ADDRESS: verify-device, whose report stays in /out.
verified() {
    run verify-device --device $PROVIDER --host "$1" >"/out/verify.${1//:/.}.log" 2>&1
    local status=$?
    cat "/out/verify.${1//:/.}.log"
    return $status
}

# serve: serve-nfs on the verbs, ready on return. A check runs in a shell of its own, so the process is known by a file.
serve() {
    exec_java serve-nfs --device $PROVIDER --export /tmp/export --no-root-squash --host $own --port 20049 --mount-port 20048 --tcp-port 20050 >/out/server.log 2>&1 &
    echo $! >/tmp/server.pid
    wait_until 300 eval 'listens || ! serves'
    listens && return 0
    cat /out/server.log
    return 1
}

listens() { [ "$(grep -c ^listening /out/server.log)" = 3 ]; }

serves() { kill -0 "$(cat /tmp/server.pid)" 2>/dev/null; }

not_alive() { ! kill -0 "$1" 2>/dev/null; }

wait_until() {
    local i limit=$1
    shift
    for i in $(seq $((2 * limit))); do
        "$@" && return 0
        sleep 0.5
    done
    return 1
}

stop() {
    serves || return 1
    kill -TERM "$(cat /tmp/server.pid)"
    wait_until 120 not_alive "$(cat /tmp/server.pid)"
    cat /out/server.log
    ! serves && ! grep -qE 'LEAK:|Exception' /out/server.log
}

copies() {
    cmp $m/file /tmp/export/file && cp /tmp/source $m/copy && sync && cmp /tmp/export/copy /tmp/source &&
        drop_caches && cmp $m/copy /tmp/source && ls $m >/dev/null && rm $m/copy
}

# Replies leave while the chunks of other calls are still being read: each on soft-iWARP at its own time.
writers() {
    local i jobs=()
    for i in 1 2 3 4 5 6; do
        (tail -c +$i /tmp/source >$m/writer$i && sync $m/writer$i) &
        jobs+=($!)
    done
    for i in "${jobs[@]}"; do wait "$i" || return 1; done
    for i in 1 2 3 4 5 6; do
        tail -c +$i /tmp/source | cmp - /tmp/export/writer$i || return 1
    done
    rm $m/writer*
}

on_device() {
    check "$1: serve-nfs" serve
    check "$1: nfs ls" run nfs ls $patient --device $PROVIDER nfs://$own:20049/
    check "$1: the kernel mounts serve-nfs" mount -t nfs -o vers=3,proto=rdma,port=20049,mountport=20048,mountproto=tcp,nolock $own:/ $m
    check "$1: the kernel reads and writes" copies
    check "$1: six write at once" writers
    check "$1: umount" umount $m
    if [ "$1" = siw ]; then # the software RNIC speaks iWARP
        echo READY
        read -r -t 900 line
        check "siw: ping a software RNIC" pinged
        check "siw: a refused connection is told at once" refused
    fi
    check "$1: demo" run demo $patient --device $PROVIDER --host $own --size 2000001
    check "$1: the worker ends" end_worker
    if [ $PROVIDER = ffm ]; then removal "$1"; fi
    check "$1: SIGTERM ends the server" stop
    if [ $PROVIDER = ffm ]; then check "$1: the device is removed: nobody holds it" wait_until 120 not_alive $deleting; fi
}

# soft-iWARP does not tell the state of its queue pairs: 4E51 is the server's port.
connected() {
    case $DEVICE in
    siw) grep -q ':4E51 01 ' /proc/net/tcp ;;
    rxe) rdma resource show qp | grep 'type RC' | grep -q 'state RTS' ;;
    esac
}

# The device goes while a client calls the server: both hear of it, and neither keeps it from going.
removal() {
    local pinging status=none
    (exec_java ping $own:20049 $patient --device $PROVIDER -c 1000000000 --timeout 10 >/out/removal.log 2>&1) &
    pinging=$!
    check "$1: a client calls" wait_until 420 connected
    sleep 5
    rdma link delete "$1"0 &
    deleting=$!
    check "$1: the device is removed: a client hears of it" ends $pinging
    if not_alive $pinging; then wait $pinging; status=$?; fi
    same "$1: the device is removed: its exit status" 1 "$status"
    same "$1: the device is removed: in one line" 1 "$(grep -vc 'does not answer; waiting' /out/removal.log)"
    check "$1: the device is removed: the server hears of it" wait_until 120 grep -q 'is gone' /out/server.log
    check "$1: the device is removed: it lives on" serves
}

# ends PID: it ends in time, else it is ended; the failed check shows where its event loop stands, in the kernel and in Java.
ends() {
    local thread
    wait_until 180 not_alive "$1" && return 0
    kill -QUIT "$1"
    sleep 10
    dmesg | tail -20
    for thread in /proc/"$1"/task/*; do
        [[ $(cat "$thread/comm") = rdma* ]] && tr '\n' ' ' <"$thread/stack"
    done
    grep -A 12 '^"rdma' /out/removal.log | tr '\n\t' '  '
    echo
    kill -KILL "$1"
    return 1
}

# With private data both ends hear that the other one takes more than 1,024 bytes.
pinged() {
    run ping 10.0.2.2:"$HOST_PORT" $patient --device $PROVIDER -c 20 --timeout 60 >/out/ping.log 2>&1 || { cat /out/ping.log && return 1; }
    cat /out/ping.log
    [ $PROVIDER != ffm ] || [ "$(awk '/^inline (to|from) server/ && $4 > 1024' /out/ping.log | wc -l)" = 2 ]
}

refused() {
    local said
    said=$(run ping $own:9 --device $PROVIDER 2>&1)
    echo "$said"
    [ "$(echo "$said" | wc -l)" = 1 ] && [[ $said = *refused* ]]
}

# Messages of perftest's there and back, timed from outside by two runs, of many and of few: its own clock may not go here.
latency() {
    local few many
    few=$(lasts 200 19100) && many=$(lasts 5200 19101) || return 1
    echo "mean $(((many - few) / 5000 / 1000)) µs"
}

# lasts COUNT PORT: nanoseconds of the client of ib_send_lat.
lasts() {
    local begun ended client said status
    timeout 300 ib_send_lat -d ${DEVICE}0 -R -F -s 64 -n "$1" -p "$2" >>/out/latency.log 2>&1 &
    client=$!
    for _ in $(seq 60); do # until the server listens
        begun=$(date +%s%N)
        said=$(timeout 300 ib_send_lat -d ${DEVICE}0 -R -F -s 64 -n "$1" -p "$2" $own 2>&1)
        status=$?
        ended=$(date +%s%N)
        [ $status != 0 ] && [[ $said = *"Failed to connect RDMA CM events"* || $said = *"rdma_connect failed"* ]] || break
        sleep 1
    done
    echo "$said" >>/out/latency.log
    [ $status = 0 ] || return 1
    wait $client
    echo $((ended - begun))
}

# What a machine that emulates can say of speed: nothing is demanded of it but that next to nothing is allocated.
figures() {
    local line allocated
    while IFS= read -r line; do ok "$DEVICE: $line"; done < <(grep -E 'there and back|sleeps meanwhile' "/out/verify.$own.log")
    allocated=$(sed -n 's/^64 bytes there and back.* \([0-9]*\) bytes allocated.*/\1/p' "/out/verify.$own.log")
    # Seen: 9 to 49, by the first compiler alone, which is what runs here: they grow with the looks in vain, so with what else the
    # machine does. Whose they are is not known. A buffer for each of the two messages, at each end, would be more than the limit.
    if [ "${allocated:-999}" -le 160 ]; then ok "$DEVICE: bytes allocated for a message and its answer ($allocated)"; else fail "$DEVICE: bytes allocated for a message and its answer" "$allocated"; fi
    line=$(latency) && ok "$DEVICE: 64 bytes there and back by ib_send_lat, timed from outside: $line" || fail "$DEVICE: ib_send_lat" "$(tail -3 /out/latency.log | tr '\n' '|')"
}

# Our client by memory windows, with the kernel's server, which invalidates them: soft-RoCE alone has any.
windows() {
    local tracing=/sys/kernel/tracing/events/rpcrdma/svcrdma_post_send
    mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
    . /job/guest/nfsd.sh
    echo 1 >$tracing/enable
    (program_options=-Dorg.rpcrdma.ffm.windows=true && program InvalidationProbe $own:20049 $own:20048 /export) 2>&1
    echo 0 >$tracing/enable
    grep svcrdma_post_send /sys/kernel/tracing/trace >/out/post_send
    at_least "$DEVICE: messages by which the kernel's server says that it has invalidated a key" 1 "$(grep -cvE 'inv_rkey=0x0+$' /out/post_send)"
    rpc.nfsd 0
    pkill rpc.mountd
    pkill rpcbind
}

begin_worker
if [ $PROVIDER = ffm ]; then
    ip -6 addr add fd00::15/64 dev eth0 nodad
    check "$DEVICE: verify-device" verified $own
    [ $DEVICE = siw ] || check "$DEVICE: verify-device by IPv6" verified fd00::15 # the addresses' code is the same, and quicker here
    figures
    peers
    [ $DEVICE = siw ] || windows
fi
on_device "$DEVICE"
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
