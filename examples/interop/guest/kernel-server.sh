# The Linux server for a Java client (issue statement 2). Serves until the host says so, or for ten minutes.
. /job/guest/check.sh
. /job/guest/siw.sh
. /job/guest/nfsd.sh
mkdir -m 777 /export/names /export/put
cp -r /job/sizes /export/sizes
# ServerProbe.name
(cd /export/names && for i in $(seq -w 3500); do echo "name-$i-$(printf 'x%.0s' {1..200})"; done | xargs touch)
check "the kernel's server listens on RDMA" grep -q 'rdma 20049' /proc/fs/nfsd/portlist
echo READY
read -r -t 600 line
(cd /export/put && sha256sum -- * | sed 's/^/DIGEST /')
dmesg >/out/dmesg
check "the kernel log is quiet" kernel_log_is_quiet
echo DONE
