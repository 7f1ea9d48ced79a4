# This project on native verbs: the provider PROVIDER in the guest, on soft-iWARP or on soft-RoCE. The jar is /job/rpcrdma.jar, the
# native part of DiSNI /job/libdisni.so, a Java for ffm in /job/jdk; DEVICE is siw or rxe, HOST_PORT an NFS server of the host on its
# software RNIC.
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

run() { (exec_java "$@"); }

# serve: serve-nfs on the verbs, ready on return. A check runs in a shell of its own, so the process is known by a file.
serve() {
    exec_java serve-nfs --device $PROVIDER --export /tmp/export --host $own --port 20049 --mount-port 20048 --tcp-port 20050 >/out/server.log 2>&1 &
    echo $! >/tmp/server.pid
    local i
    for i in $(seq 240); do
        [ "$(grep -c ^listening /out/server.log)" = 3 ] && return 0
        serves || break
        sleep 0.5
    done
    cat /out/server.log
    return 1
}

serves() { kill -0 "$(cat /tmp/server.pid)" 2>/dev/null; }

stop() {
    serves || return 1
    kill -TERM "$(cat /tmp/server.pid)"
    local i
    for i in $(seq 120); do
        serves || break
        sleep 0.5
    done
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

# A Java takes long to begin here: each check that begins one has something of its own to show.
on_device() {
    check "$1: serve-nfs" serve
    check "$1: nfs ls" run nfs ls --device $PROVIDER nfs://$own:20049/
    check "$1: the kernel mounts serve-nfs" mount -t nfs -o vers=3,proto=rdma,port=20049,mountport=20048,mountproto=tcp,nolock $own:/ $m
    check "$1: the kernel reads and writes" copies
    check "$1: six write at once" writers
    check "$1: umount" umount $m
    if [ "$1" = siw ]; then # the software RNIC speaks iWARP
        echo READY
        read -r -t 300 line
        check "siw: ping a software RNIC" run ping 10.0.2.2:"$HOST_PORT" --device $PROVIDER -c 20
        check "siw: a refused connection is told at once" refused
    fi
    check "$1: SIGTERM ends the server" stop
    check "$1: demo" run demo --device $PROVIDER --host $own --size 2000001
}

refused() {
    local said
    said=$(run ping $own:9 --device $PROVIDER 2>&1)
    echo "$said"
    [ "$(echo "$said" | wc -l)" = 1 ] && [[ $said = *refused* ]]
}

on_device "$DEVICE"
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
