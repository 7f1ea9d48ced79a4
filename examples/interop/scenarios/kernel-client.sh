# Proves: statement 1, the Linux client mounts serve-nfs and works on it.
export_dir=$work/export
make_sizes "$export_dir/sizes"
mkdir -p "$export_dir/names" "$work/job"
for i in $(seq -w 1000); do echo "name-$i-$(printf 'x%.0s' {1..200})"; done >"$work/job/names"
(cd "$export_dir/names" && xargs touch <"$work/job/names")
digests "$export_dir/sizes" >"$work/job/sizes.sha256"

pings_in_version_2() {
    client ping "127.0.0.1:$port" --highest-version 2 --timeout 60 | grep -E '^RPC-over-RDMA +version 2$'
}

# The server speaks both versions at once; the kernel is served in version 1 as ever.
if start_server "$export_dir" --highest-version 2; then
    check "ping in version 2" pings_in_version_2

    start_capture "$port"
    start_guest kernel-client "PORT=$port" "MOUNT_PORT=$mount_port" -- --timeout 1500
    finish_guest
    stop_capture
    check "host: what the client wrote has equal digests" diff <(digests "$export_dir/back") "$work/job/sizes.sha256"
    check "host: what git wrote is a sound repository" \
        git -c safe.directory='*' -C "$export_dir/tree" fsck --strict --full
    stop_server
fi
