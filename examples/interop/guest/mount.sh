# Sourced by jobs that mount the host's server, whose PORT and MOUNT_PORT are in /job/env.
m=/mnt/nfs

# mount_export [OPTIONS [DIRECTORY]]
mount_export() {
    mount_by mount -t nfs -o "vers=3,proto=rdma,port=$PORT,mountport=$MOUNT_PORT,mountproto=tcp,nolock${1:+,$1}" 10.0.2.2:/ "${2:-$m}"
}

# mount_by COMMAND...: mounts over soft-iWARP. The kernel takes a local port at random; where TCP still has a connection from that
# port to the same one of the server in TIME_WAIT, soft-iWARP is refused, and nobody takes another port. Mounting again does.
mount_by() {
    local said
    for _ in 1 2 3; do
        said=$("$@" 2>&1) && return
        echo "$said"
        [[ $said = *"Cannot assign requested address"* ]] || return
    done
    return 1
}

# counter N [FILE]: the Nth number of the line 'xprt: rdma' of the mount's statistics (27 numbers, kernel 6.1).
counter() {
    awk -v n="$1" '$1 == "xprt:" && $2 == "rdma" { print $(n + 2); exit }' "${2:-/proc/self/mountstats}"
}
