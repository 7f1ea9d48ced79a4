# Adds the soft-iWARP device on eth0 and loads the NFS/RDMA modules.
for m in siw rpcrdma rdma_ucm nfsv3 nfsv4; do modprobe $m; done
rdma link add siw0 type siw netdev eth0
mkdir -p /mnt/nfs
