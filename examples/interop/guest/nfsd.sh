# Starts the kernel's NFS server on /export: RDMA on port 20049, mountd on TCP port 20048.
modprobe lockd nlm_timeout=3 nlm_grace_period=3 # nobody has locks to reclaim; until then nothing is delegated
modprobe nfsd
mkdir -p /export /run/rpcbind
chmod 777 /export
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind
echo "/export *(rw,fsid=0,no_root_squash,insecure,no_subtree_check)" >/etc/exports
exportfs -ra
rpc.mountd -p 20048
echo 1048576 >/proc/fs/nfsd/max_block_size # otherwise what is right for the memory of this machine
rpc.nfsd 4
echo "rdma 20049" >/proc/fs/nfsd/portlist
echo Y >/proc/fs/nfsd/v4_end_grace # nobody has state to reclaim
