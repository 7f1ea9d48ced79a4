# rdma-core's rping, both roles, with soft-iWARP. PORTS of the host's servers are in /job/env.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
rping -s -P -p 7174 -S 65535 >/out/rping-server.log 2>&1 &
names=("defaults" "CRC" "MTU 1500" "CRC, MTU 1500")
echo READY
read -r -t 900 line
i=0
for port in $PORTS; do
    for size in 64 1439 4096 65535; do
        check "rping pings our server: ${names[i]}, $size bytes" rpinged 120 -a 10.0.2.2 -p "$port" -C 50 -S "$size" -V
    done
    i=$((i + 1))
done
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
