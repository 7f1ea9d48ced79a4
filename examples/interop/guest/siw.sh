# Adds the soft-iWARP device on eth0 and loads the NFS/RDMA modules.
for m in siw rpcrdma rdma_ucm nfsv3 nfsv4; do modprobe $m; done
rdma link add siw0 type siw netdev eth0
mkdir -p /mnt/nfs
# A send buffer that is never full: soft-iWARP's threads race for the connection of a program when it is (docs/software-rnic.md).
sysctl -q -w net.ipv4.tcp_wmem="4096 4194304 4194304"
