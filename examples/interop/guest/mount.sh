# Sourced by jobs that mount the host's server, whose PORT and MOUNT_PORT are in /job/env.
m=/mnt/nfs

# mount_export [OPTIONS [DIRECTORY]]
mount_export() {
    mount -t nfs -o "vers=3,proto=rdma,port=$PORT,mountport=$MOUNT_PORT,mountproto=tcp,nolock${1:+,$1}" 10.0.2.2:/ "${2:-$m}"
}

# counter N [FILE]: the Nth number of the line 'xprt: rdma' of the mount's statistics (27 numbers, kernel 6.1).
counter() {
    awk -v n="$1" '$1 == "xprt:" && $2 == "rdma" { print $(n + 2); exit }' "${2:-/proc/self/mountstats}"
}
