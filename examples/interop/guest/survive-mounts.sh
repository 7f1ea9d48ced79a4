# Mounts and umounts 50 times, then powers off in mid-transfer without a word to the server.
. /job/guest/transfer.sh

fifty_mounts() {
    local i
    for i in $(seq 50); do mount_export && stat $m/big >/dev/null && umount $m || return; done
}

check "mounts after the faults" mount_export
check "reads with an equal digest after the faults" read_big
check "writes after the faults" write_big
check "umounts after the faults" umount $m
check "50 mounts and umounts in a row" fifty_mounts
check "mounts after 50 mounts" mount_export
check "reads with an equal digest after 50 mounts" read_big
check "the kernel log is quiet" kernel_log_is_quiet
transfer_for_ever && echo MID-TRANSFER
sleep 1
echo o >/proc/sysrq-trigger
sleep 60
