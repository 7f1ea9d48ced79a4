# The Linux client on Hadoop's NFS gateway. The host gives PORT, MOUNT_PORT in /job/env, files of all sizes in /job/sizes with
# their digests in /job/sizes.sha256, and has written 'ours' there. HDFS has no hard links and no writes but at the end.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
. /job/guest/mount.sh

write_sizes() { mkdir $m/sizes && cp /job/sizes/* $m/sizes/; }
read_sizes() { (cd $m/sizes && sha256sum --quiet -c /job/sizes.sha256); }

direct_io() {
    dd if=$m/sizes/f.20000000 of=/tmp/direct bs=1M iflag=direct status=none && cmp /tmp/direct /job/sizes/f.20000000 &&
        truncate -s 4M /tmp/direct && dd if=/tmp/direct of=$m/direct bs=1M oflag=direct status=none && drop_caches &&
        cmp /tmp/direct $m/direct
}

append() {
    cp /job/sizes/f.4097 $m/append && drop_caches && cat /job/sizes/f.65537 >>$m/append && drop_caches &&
        cat /job/sizes/f.4097 /job/sizes/f.65537 | cmp - $m/append
}

names() {
    mkdir $m/names && (cd $m/names && seq -f 'name-%g' 300 | xargs touch) && drop_caches &&
        [ "$(ls -l $m/names | grep -c '^-')" = 300 ] && mv $m/names/name-1 $m/names/other && [ ! -e $m/names/name-1 ] &&
        ln -s other $m/names/link && [ "$(readlink $m/names/link)" = other ] && rm -r $m/names && [ ! -e $m/names ]
}

check "mount" mount_export
mountpoint -q $m || exit 1
check "reads what our client wrote" cmp $m/ours /job/sizes/f.1000001
check "writes every size" write_sizes
drop_caches
check "reads every size with equal digests" read_sizes
check "direct reads and writes" direct_io
check "appends" append
check "makes, lists, renames and removes names" names
at_least "mountstats: read_chunk" 1 "$(counter 11)"
at_least "mountstats: write_chunk" 1 "$(counter 12)"
same "mountstats: bad_xids is 0" 0 "$(counter 8)"
same "mountstats: bad_reply is 0" 0 "$(counter 20)"
cp /proc/self/mountstats /out/mountstats
check "umount" umount $m
check "mounts again, with sync" mount_export sync
check "reads every size again with equal digests" read_sizes
check "writes with sync" cp /job/sizes/f.1000001 $m/sync
drop_caches
check "reads that" cmp $m/sync /job/sizes/f.1000001
check "umounts again" umount $m
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
