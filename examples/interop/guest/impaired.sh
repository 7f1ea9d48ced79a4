# Two ends of this project in network namespaces of their own, joined by a link that netem impairs in both directions; and the Linux
# client on the host's server by an interface that netem impairs, whose PORT and MOUNT_PORT are in /job/env. PARTITION: seconds.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
. /job/guest/mount.sh
for module in veth ifb act_mirred sch_netem sch_ingress cls_matchall; do modprobe $module; done

# A packet for each segment: what is lost is one of them, not a burst.
ip netns add server
ip netns add client
ip link add to-client netns server gso_max_segs 1 type veth peer name to-server netns client gso_max_segs 1
ip -n server addr add 10.1.0.1/24 dev to-client
ip -n client addr add 10.1.0.2/24 dev to-server
ip -n server link set to-client up
ip -n client link set to-server up

# impair NETEM...: both directions of the link.
impair() {
    tc -n server qdisc replace dev to-client root netem limit 10000 "$@" && tc -n client qdisc replace dev to-server root netem limit 10000 "$@"
}

java=(java -Xmx256m -XX:MaxDirectMemorySize=256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -cp /job/rpcrdma.jar:/job/classes)
mkfifo /tmp/phases
ip netns exec server "${java[@]}" org.rpcrdma.examples.interop.ImpairedServer 10.1.0.1 7000 7001 >/out/server.log 2>&1 &
server=$!
(
    until grep -q READY /out/server.log; do
        kill -0 $server || exit 1
        sleep 0.2
    done
    exec ip netns exec client "${java[@]}" org.rpcrdma.examples.interop.ImpairedClient 10.1.0.1 7000 7001 </tmp/phases >/out/client.log 2>&1
) &
client=$!
exec 8>/tmp/phases

# client_says PATTERN: waits until it does, or is gone.
client_says() {
    until grep -q "$1" /out/client.log 2>/dev/null; do
        kill -0 $client 2>/dev/null || return
        sleep 0.2
    done
}

# phase SECONDS FEWEST NAME: see ImpairedClient.
phase() {
    echo "$*" >&8
    shift 2
    client_says "^OVER $*"
}

# The Linux client meanwhile: both directions of the guest's interface, by way of another one for what comes in.
impair_nfs() {
    ip link set ifb0 up && tc qdisc add dev eth0 handle ffff: ingress &&
        tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0 &&
        tc qdisc replace dev eth0 root netem "$@" && tc qdisc replace dev ifb0 root netem "$@"
}
impaired_nfs() {
    check "the Linux client mounts" mount_export
    check "its interface is impaired: loss 1 %, delay, reordering" impair_nfs limit 10000 loss 1% delay 4ms 2ms reorder 25% 50%
    check "the Linux client reads with equal digests" read_sizes
    check "the Linux client writes" copy_back
    drop_caches
    check "the Linux client reads back what it wrote with equal digests" read_back
    echo "   Linux client: $(tc -s qdisc show dev eth0 | grep -o 'Sent.*' | head -1)"
    tc qdisc del dev eth0 root
    tc qdisc del dev eth0 ingress
    check "umount" umount $m
}
read_sizes() { (cd $m/sizes && sha256sum --quiet -c /job/sizes.sha256); }
read_back() { (cd $m/back && sha256sum --quiet -c /job/sizes.sha256); }
copy_back() { mkdir $m/back && cp $m/sizes/* $m/back/ && sync; }
impaired_nfs >/out/nfs.log 2>&1 &
nfs=$!

client_says '^READY'
# Netem loses and reorders by chance; a call has five seconds, which is TCP's patience with some losses in a row.
check "netem loses 1 % each way" impair loss 1%
phase 6 10 "calls and a stream, loss of 1 % each way"
check "netem delays and reorders each way" impair delay 10ms 5ms reorder 25% 50%
phase 6 3 "calls and a stream, delay of 10 ms and reordering each way"
check "netem loses, delays and reorders each way" impair loss 3% delay 5ms 3ms reorder 25% 50%
phase 6 3 "calls and a stream, loss of 3 %, delay and reordering each way"
tc -s -n server qdisc show dev to-client | sed -n 's/.*\(Sent.*\)/   netem: \1/p'
check "the network is cut" impair loss 100%
phase "$PARTITION" 0 "calls end in time while the network is cut for $PARTITION s"
[ "$PARTITION" -lt 100 ] || phase 0 1 "an idle connection and an idle stream notice it"
check "the network is back" impair delay 0ms
phase 10 10 "calls are answered and the stream goes on when the network is back"
exec 8>&-
wait $client
status=$?
grep -E '^(ok|FAIL|   )' /out/client.log
[ $status -le 1 ] && ! grep -q LEAK: /out/client.log || fail "the client runs to its end" "exit $status: $(tail -3 /out/client.log | tr '\n' '|')"
kill $server
wait $nfs
cat /out/nfs.log
dmesg >/out/dmesg
echo DONE
