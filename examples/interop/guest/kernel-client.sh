# The Linux client on a Java server (issue statement 1). The host has filled the export:
#   names/   1,000 files with long names    sizes/  one file f.SIZE for each size
# and gives PORT, MOUNT_PORT in /job/env, the names in /job/names and the digests in /job/sizes.sha256.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
. /job/guest/mount.sh

# tree_digest DIR: of all names, kinds, modes, link targets and contents below DIR.
tree_digest() {
    (cd "$1" && find . -printf '%P %y %m %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum) | sha256sum
}

list_names() { ls $m/names | sort | cmp - /job/names; }
list_long() { [ "$(ls -l $m/names | grep -c '^-')" = 1000 ]; }
read_sizes() { (cd $m/sizes && sha256sum --quiet -c /job/sizes.sha256); }

write_sizes() {
    mkdir $m/back &&
        for f in $m/sizes/*; do cp "$f" "$m/back/" || return; done
    drop_caches
    (cd $m/back && sha256sum --quiet -c /job/sizes.sha256)
}

direct_io() {
    dd if=$m/sizes/f.20000000 of=/tmp/direct bs=1M iflag=direct status=none &&
        cmp /tmp/direct $m/sizes/f.20000000 && truncate -s 16M /tmp/direct &&
        dd if=/tmp/direct of=$m/direct bs=1M oflag=direct status=none && drop_caches && cmp /tmp/direct $m/direct
}

create_exclusive() {
    (set -C && echo one >$m/ops/exclusive) && ! (set -C && echo two >$m/ops/exclusive) 2>/dev/null &&
        [ "$(cat $m/ops/exclusive)" = one ]
}

rename_file() {
    echo old >$m/ops/a && echo new >$m/ops/b && mv $m/ops/b $m/ops/a && [ ! -e $m/ops/b ] && [ "$(cat $m/ops/a)" = new ]
}

rename_directory() {
    mkdir -p $m/ops/d1/x && mv $m/ops/d1 $m/ops/d2 && [ -d $m/ops/d2/x ] && [ ! -e $m/ops/d1 ]
}

hard_link() {
    echo linked >$m/ops/l1 && ln $m/ops/l1 $m/ops/l2 && [ "$(stat -c %h $m/ops/l1)" = 2 ] &&
        [ "$(stat -c %i $m/ops/l1)" = "$(stat -c %i $m/ops/l2)" ] && rm $m/ops/l1 && [ "$(cat $m/ops/l2)" = linked ]
}

symbolic_link() {
    local long
    long=$(printf 'p%.0s' $(seq 250))/$(printf 'q%.0s' $(seq 250))
    ln -s l2 $m/ops/s && ln -s "$long" $m/ops/s.long && drop_caches && [ "$(readlink $m/ops/s)" = l2 ] &&
        [ "$(readlink $m/ops/s.long)" = "$long" ] && [ "$(cat $m/ops/s)" = linked ]
}

truncate_file() {
    local f=$m/ops/t
    head -c 10000 /dev/urandom >/tmp/t && cp /tmp/t $f && truncate -s 5000 $f && drop_caches &&
        cmp $f <(head -c 5000 /tmp/t) && truncate -s 9000 $f && drop_caches &&
        cmp $f <(head -c 5000 /tmp/t && head -c 4000 /dev/zero) && : >$f && [ "$(stat -c %s $f)" = 0 ]
}

change_mode() {
    echo x >$m/ops/m && for mode in 600 755 444 640; do
        chmod $mode $m/ops/m && drop_caches && [ "$(stat -c %a $m/ops/m)" = $mode ] || return
    done
}

change_times() {
    touch -d '2001-02-03 04:05:06 UTC' $m/ops/m && drop_caches && [ "$(stat -c %Y $m/ops/m)" = 981173106 ]
}

overwrite_and_append() {
    local f=$m/ops/o
    head -c 300000 /dev/urandom >/tmp/o && cp /tmp/o $f
    for x in /tmp/o $f; do
        printf 'in the middle' | dd of=$x bs=1 seek=123457 conv=notrunc status=none && printf 'at the end' >>$x || return
    done
    drop_caches && cmp /tmp/o $f
}

remove() {
    rm $m/ops/l2 $m/ops/s && rmdir $m/ops/d2/x && ! rmdir $m/ops 2>/dev/null && [ ! -e $m/ops/l2 ] && rm -r $m/ops/d2
}

copy_tree() { cp -r /tmp/tree $m/tree && drop_caches && [ "$(tree_digest /tmp/tree)" = "$(tree_digest $m/tree)" ]; }

tar_tree() {
    mkdir $m/untar /tmp/untar && tar -C /tmp -cf $m/tree.tar tree && drop_caches && tar -C $m/untar -xf $m/tree.tar &&
        tar -C $m/untar -cf - tree | tar -C /tmp/untar -xf - && [ "$(tree_digest /tmp/untar)" = "$(tree_digest $m/untar)" ]
}

git_tree() {
    cd $m/tree && git init -q -b main . && git add . && git -c user.name=lab -c user.email=lab@example.org commit -q -m all &&
        drop_caches && git fsck --strict --full && [ -z "$(git status --porcelain)" ] && [ "$(git ls-files | wc -l)" -ge 300 ]
}

options_are_used() {
    local o options
    options=$(grep " $m nfs " /proc/mounts)
    for o; do case "$options" in *[,\ ]"$o"[,\ ]*) ;; *) echo "$o is not in: $options" && return 1 ;; esac done
}

# A length that no size divides; written, cached pages forgotten, read.
there_and_back() {
    head -c 3000001 /dev/urandom >/tmp/back && cp /tmp/back $m/ops/back && drop_caches && cmp /tmp/back $m/ops/back && rm $m/ops/back
}

four_at_once() {
    local i jobs=()
    head -c 8000003 /dev/urandom >/tmp/four
    for i in 1 2 3 4; do
        (cp /tmp/four $m/ops/four$i && dd if=$m/ops/four$i bs=256K iflag=direct status=none | cmp - /tmp/four) &
        jobs+=($!)
    done
    for i in "${jobs[@]}"; do wait "$i" || return; done
    cp /proc/self/mountstats /out/mountstats.4
    rm $m/ops/four?
}

fewest_sends() { awk '$1 == "xprt:" && $2 == "rdma" { print $8 }' /out/mountstats.4 | sort -n | head -1; }

# 400 files of mixed sizes in 20 directories, with links.
make_tree() {
    local d f
    for d in $(seq 20); do
        mkdir -p "/tmp/tree/dir$d"
        for f in $(seq 20); do head -c $((d * f * 97 % 20011)) /dev/urandom >"/tmp/tree/dir$d/file$f"; done
        ln -s "../dir1/file$d" "/tmp/tree/dir$d/link"
    done
    chmod 755 /tmp/tree/dir1/file1
}

check "mount" mount_export
mountpoint -q $m || exit 1
check "lists 1,000 long names" list_names
drop_caches
check "lists 1,000 long names with their attributes" list_long
drop_caches
check "reads every size with equal digests" read_sizes
check "writes every size back with equal digests" write_sizes
check "reads and writes with O_DIRECT" direct_io
mkdir $m/ops
check "creates exclusively" create_exclusive
check "renames a file over another" rename_file
check "renames a directory" rename_directory
check "makes hard links" hard_link
check "makes and reads symbolic links, short and long" symbolic_link
check "truncates, shorter and longer" truncate_file
check "changes modes" change_mode
check "changes times" change_times
check "overwrites in the middle and appends" overwrite_and_append
check "removes files and directories" remove
check "reports free space" df $m
make_tree
check "cp -r of 400 files" copy_tree
check "tar there and back" tar_tree
check "git init, add, commit and fsck of 400 files" git_tree
cd /
cp /proc/self/mountstats /out/mountstats
for c in "6 sends" "7 recvs" "8 bad_xids" "11 read_chunk" "12 write_chunk" "13 reply_chunk" "19 failed_marshal" "20 bad_reply"; do
    set -- $c
    echo "COUNTER $2 $(counter "$1")"
    case $2 in
    read_chunk | write_chunk | reply_chunk)
        if [ "$(counter "$1")" -gt 0 ]; then ok "mountstats: $2 $(counter "$1") > 0"; else fail "mountstats: no $2 was used"; fi
        ;;
    bad_xids | bad_reply) same "mountstats: $2 is 0" 0 "$(counter "$1")" ;;
    failed_marshal)
        # The client counts here, too, each call that waits for a memory region of its own: Linux to Linux as well.
        if [ $(($(counter "$1") * 100)) -lt "$(counter 6)" ]; then
            ok "mountstats: failed_marshal $(counter "$1") < 1% of the calls"
        else fail "mountstats: failed_marshal $(counter "$1") of $(counter 6) calls"; fi
        ;;
    esac
done
check "umount" umount $m
check "mounts again" mount_export
check "reads every size again with equal digests" read_sizes
check "umounts again" umount $m
for size in 4096 65536 1048576; do
    check "rsize and wsize $size, sec=sys: mount" mount_export "rsize=$size,wsize=$size,sec=sys"
    check "rsize and wsize $size: these are used" options_are_used "rsize=$size" "wsize=$size" sec=sys proto=rdma
    check "rsize and wsize $size: a file there and back has an equal digest" there_and_back
    check "rsize and wsize $size: umount" umount $m
done
check "four connections: mount" mount_export nconnect=4
check "four connections: all carry transfers of four files at once" four_at_once
same "four connections: there are as many" 4 "$(grep -c '^[[:space:]]*xprt:[[:space:]]*rdma' /out/mountstats.4)"
at_least "four connections: sends of the one with the fewest" 10 "$(fewest_sends)"
check "four connections: umount" umount $m
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
