# The Linux client on a server that answers wrongly about names that begin with spoil-. The answer that is right would be
# ENOENT. PORT and MOUNT_PORT are in /job/env.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
. /job/guest/mount.sh

# expects NAME TEXT: what ls says about a name, and how long it waits at most.
expects() {
    local said
    said=$(LC_ALL=C timeout 120 stat "$m/spoil-$1" 2>&1)
    case $said in *"$2"*) return 0 ;; esac
    echo "$said"
    return 1
}

echo READY
check "mount" mount_export
for c in err-vers err-chunk err-unknown procedure nomsg read-list write-lists reply-chunk; do
    check "a call is answered with $c: it fails alone" expects $c "Input/output error"
    check "... the next one is answered" expects nothing "No such file"
done
for c in version-first short-first xid-first no-credits all-credits; do
    check "a reply is preceded by, or has, $c: the call is answered" expects $c "No such file"
done
# On a busy machine the client now and then takes a wrong reply for one that cannot be parsed: it connects again and sends the
# call once more, which is answered wrongly once more.
again=$(awk '$1 == "LOOKUP:" { print $3 - $2; exit }' /proc/self/mountstats)
same "mountstats: bad_reply counts the wrong ones, $again of them again" $((8 + again)) "$(counter 20)"
same "mountstats: bad_xids counts the unknown XID" 1 "$(counter 8)"
drop_caches
check "a file is read after that" cmp $m/file /job/file
check "umount" umount $m
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
