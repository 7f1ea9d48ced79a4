# The Linux client makes an NFSv4.1 session with a server that calls it back and then refuses the mount. PORT is in /job/env.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
echo READY
mount -t nfs -o "vers=4.1,proto=rdma,port=$PORT" 10.0.2.2:/ /mnt/nfs &
read -r -t 900 line
kill $! 2>/dev/null # it may try again for some time
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
