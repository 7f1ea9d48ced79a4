# Sourced by the survive jobs.
. /job/env
. /job/guest/check.sh
. /job/guest/siw.sh
. /job/guest/mount.sh

read_big() { drop_caches && (cd $m && sha256sum --quiet -c /job/big.sha256); }

write_big() { cp $m/big $m/copy && drop_caches && cmp $m/big $m/copy && rm $m/copy; }

# Readers and writers that never end; returns when each has moved some data.
transfer_for_ever() {
    local i
    for i in 1 2; do
        (while dd if=$m/big of=/dev/null bs=1M iflag=direct status=none && touch "/tmp/read$i"; do :; done) &
        (while dd if=/dev/zero of="$m/junk$i" bs=1M count=16 oflag=direct status=none && touch "/tmp/wrote$i"; do :; done) &
    done
    until [ -e /tmp/read1 ] && [ -e /tmp/read2 ] && [ -e /tmp/wrote1 ] && [ -e /tmp/wrote2 ]; do sleep 0.2; done
}
