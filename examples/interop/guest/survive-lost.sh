# Warms the server up; transfers, when told so, until the host takes this machine away.
. /job/guest/transfer.sh
check "mounts before the faults" mount_export
check "reads with an equal digest before the faults" read_big
check "writes before the faults" write_big
check "umounts before the faults" umount $m
echo WARM
read -r -t 900 line
mount_export && transfer_for_ever && echo MID-TRANSFER
sleep 300
