# Adds the soft-iWARP device on eth0 and loads the NFS/RDMA modules.
for m in siw rpcrdma rdma_ucm nfsv3 nfsv4; do modprobe $m; done
rdma link add siw0 type siw netdev eth0
mkdir -p /mnt/nfs
# A send buffer that is never full: soft-iWARP's threads race for the connection of a program when it is (docs/software-rnic.md).
sysctl -q -w net.ipv4.tcp_wmem="4096 4194304 4194304"
# As responder it sends its MPA Reply before it listens to the socket again: a first message that comes in between lies there unseen
# (docs/software-rnic.md). /out/unread names each connection with the same bytes in TCP's receive queue for 20 s.
unread() {
    local before now
    while :; do
        before=${now:-}
        now=$(awk 'FNR > 1 && $4 != "0A" && $5 !~ /:00000000$/ { print $2, $3, $5 }' /proc/net/tcp /proc/net/tcp6 | sort) # not those that listen
        comm -12 <(echo "$before") <(echo "$now") | grep . >>/out/unread
        sleep 20
    done
}
unread &
