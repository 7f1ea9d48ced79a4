# Proves: calls and streams end in time and bytes are right while the network loses, delays, reorders and is cut; the Linux client too.
# RPCRDMA_PARTITION_SECONDS is how long the network is cut (default 120); from 100 s on, idle connections have to have noticed it.
partition=${RPCRDMA_PARTITION_SECONDS:-120}
export_dir=$work/export
mkdir -p "$work/job" "$export_dir/sizes"
for size in 1 4097 65537 1000001; do head -c "$size" /dev/urandom >"$export_dir/sizes/f.$size"; done
digests "$export_dir/sizes" >"$work/job/sizes.sha256"
cp "$root/examples/target/rpcrdma.jar" "$work/job/"
for class in ImpairedServer ImpairedClient ImpairedStream ImpairedData Report; do
    (cd "$root/examples/target/test-classes" && find org/rpcrdma/examples/interop -name "$class*.class") # with those inside
done >"$work/classes"
mkdir -p "$work/job/classes"
tar -C "$root/examples/target/test-classes" -cT "$work/classes" | tar -C "$work/job/classes" -x
if start_server "$export_dir"; then
    start_guest impaired "PORT=$port" "MOUNT_PORT=$mount_port" "PARTITION=$partition" -- --timeout $((1200 + partition)) --memory 2048
    finish_guest
    grep -a '^   ' "$work/$guest.log" || true
    check "host: what the Linux client wrote has equal digests" diff <(digests "$export_dir/back") "$work/job/sizes.sha256"
    stop_server
fi
