#!/usr/bin/env bash
# A Linux machine with a real NFS/RDMA client and server, for interoperability tests.
#
# It boots Debian's own kernel in QEMU (software emulation, no KVM needed) with soft-iWARP (siw), rpcrdma,
# the NFS client and the NFS server. siw speaks iWARP over plain TCP, so the guest and a program on the host
# reach each other through QEMU's user network:
#   guest -> host   10.0.2.2:PORT in the guest is 127.0.0.1:PORT on the host
#   host  -> guest  lab.sh run --forward HOST:GUEST: 127.0.0.1:HOST on the host is port GUEST in the guest
#
#   lab.sh check                       exit 0 when the lab is built or can be built here; else say why, exit 77
#   lab.sh build                       build the image if it is missing or its recipe has changed (some minutes)
#   lab.sh run [options] JOB_DIR       boot, run JOB_DIR/job.sh as root, power off
#       --forward HOST:GUEST           forward a TCP port of the host's loopback to the guest; may be repeated
#       --timeout SECONDS              default 300
#       --out DIR                      what the job writes to /out comes back here (64 MiB at most)
#       --memory MIB                   default 1536
#       --pid-file FILE                where QEMU writes its process id
#       --input FILE                   what the job reads from standard input, a FIFO for example
#       --wire FILE                    what crosses the network card of the guest, in the format of tcpdump
# JOB_DIR is mounted read-only at /job in the guest. The job's output is printed. lab.sh exits with the job's
# exit status, 124 when the machine ended without one (time-out, killed), 125 if it did not boot, 77 if the lab
# cannot be built here.
#
# The image is kept in $RPCRDMA_LAB (default ~/.cache/rpcrdma-lab), in a directory named after its recipe.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=${RPCRDMA_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/rpcrdma-lab}
HOST_PACKAGES="qemu-system-x86 debootstrap e2fsprogs"
RELEASE=bookworm
GUEST_PACKAGES=linux-image-amd64,linux-headers-amd64,linux-source-6.1,gcc,make,bzip2,xz-utils,kmod,iproute2,rdma-core
GUEST_PACKAGES+=,nfs-common,nfs-kernel-server,netbase,procps,acl,git,rdmacm-utils,perftest,ibverbs-utils
GUEST_PACKAGES+=,openjdk-17-jre-headless

die() {
    echo "lab: $*" >&2
    exit 125
}

cannot() {
    echo "lab: CANNOT BE BUILT HERE: $*" >&2
    exit 77
}

# Debian's kernel leaves siw out: this builds the module from Debian's own source package, in the image.
build_siw() {
    set -e
    kv=$(ls /lib/modules | sort -V | tail -1)
    cd /usr/src
    [ -e "/lib/modules/$kv/build" ] || { echo "no headers for $kv"; exit 1; }
    tar xf linux-source-6.1.tar.xz --wildcards 'linux-source-6.1/drivers/infiniband/sw/siw/*'
    cd linux-source-6.1/drivers/infiniband/sw/siw
    sed -i 's/obj-$(CONFIG_RDMA_SIW)/obj-m/' Makefile
    make -C "/lib/modules/$kv/build" M="$PWD" modules
    mkdir -p "/lib/modules/$kv/updates"
    cp siw.ko "/lib/modules/$kv/updates/"
    depmod "$kv"
}

# With the drivers of every machine, unpacking the initrd and looking for devices would be most of the boot.
shrink_initrd() {
    set -e
    printf '%s\n' virtio_pci virtio_blk virtio_net ext4 >>/etc/initramfs-tools/modules
    sed -i -e 's/^MODULES=.*/MODULES=list/' -e 's/^COMPRESS=.*/COMPRESS=gzip/' /etc/initramfs-tools/initramfs.conf
    update-initramfs -u
}

recipe() {
    echo "$RELEASE $GUEST_PACKAGES"
    declare -f build_siw shrink_initrd make_image
    cat "$here/guest/init"
}

image_dir() {
    echo "$LAB/image-$(recipe | sha256sum | cut -c1-12)"
}

ready() {
    command -v qemu-system-x86_64 mkfs.ext4 debugfs >/dev/null && [ -f "$(image_dir)/complete" ]
}

check() {
    ready && return
    [ "$(uname -sm)" = "Linux x86_64" ] || cannot "this is $(uname -sm), the lab's machine is Linux x86_64"
    [ "$(id -u)" = 0 ] || cannot "building the image takes root (debootstrap, chroot); you are $(id -un)"
    local p
    for p in $HOST_PACKAGES; do
        dpkg -s "$p" >/dev/null 2>&1 && continue
        command -v apt-get >/dev/null || cannot "the Debian package $p is missing and there is no apt-get"
    done
}

install_host_packages() {
    local p
    for p in $HOST_PACKAGES; do
        dpkg -s "$p" >/dev/null 2>&1 && continue
        echo "lab: installing $HOST_PACKAGES" >&2
        apt-get update -qq >/dev/null || cannot "apt-get update failed"
        # shellcheck disable=SC2086 # a list
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $HOST_PACKAGES >/dev/null ||
            cannot "apt-get could not install $HOST_PACKAGES"
        return
    done
}

# make_image DIR: root.img, vmlinuz and initrd in DIR.
make_image() {
    local dir=$1 root=$1/rootfs log=$1/build.log kv
    debootstrap --variant=minbase --include="$GUEST_PACKAGES" "$RELEASE" "$root" >"$log" 2>&1 ||
        cannot "debootstrap failed, see $log: $(tail -1 "$log")"
    chroot "$root" bash -c "$(declare -f build_siw); build_siw" >>"$log" 2>&1 ||
        die "the siw module did not build, see $log"
    chroot "$root" bash -c "$(declare -f shrink_initrd); shrink_initrd" >>"$log" 2>&1 ||
        die "the initrd could not be made, see $log"
    kv=$(find "$root/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -1)
    rm -rf "$root"/usr/src/linux-source-6.1* "$root"/var/cache/apt/archives/*.deb
    install -D -m 755 "$here/guest/init" "$root/lab/init"
    sed -i 's/^hosts:.*/hosts: files/' "$root/etc/nsswitch.conf" # there is no DNS: mountd would wait for it
    echo "10.0.2.2 host" >>"$root/etc/hosts"
    mkfs.ext4 -q -F -d "$root" "$dir/root.img" 4G >>"$log" 2>&1 || die "mkfs.ext4 failed, see $log"
    cp "$root/boot/vmlinuz-$kv" "$dir/vmlinuz"
    cp "$root/boot/initrd.img-$kv" "$dir/initrd"
    rm -rf "$root"
    echo "$kv" >"$dir/complete"
}

# machine: QEMU, as the variables of run say. It ends when the guest powers off or reboots, when it is killed, or after the time limit. On
# a busy host its emulated timer may be late for the kernel's check of it, and the kernel then gives up: no_timer_check. With erms the
# kernel copies and clears memory a byte at a time, which is quick in a real CPU only; without, eight bytes at a time.
machine() {
    timeout --foreground -k 5 "$timeout" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,erms=off -smp 2 -m "$memory" -nographic -no-reboot \
        ${pid_file:+-pidfile "$pid_file"} -kernel "$image/vmlinuz" -initrd "$image/initrd" \
        -append "root=/dev/vda rw console=ttyS0 earlyprintk=ttyS0 quiet init=/lab/init net.ifnames=0 mitigations=off no_timer_check panic=1" \
        -drive "file=$image/root.img,if=virtio,format=raw,snapshot=on" \
        -drive "file=$t/job.img,if=virtio,format=raw,readonly=on" -drive "file=$t/out.img,if=virtio,format=raw" \
        -netdev "user,id=n0$forward" -device virtio-net-pci,netdev=n0 \
        ${wire:+-object "filter-dump,id=wire,netdev=n0,file=$wire"} <"$input" 2>&1
}

build() {
    ready && return
    check
    install_host_packages
    ready && return
    mkdir -p "$LAB"
    exec 8>"$LAB/lock"
    flock 8 # two builds at once would share the same directory
    ready && return
    local dir
    dir=$(image_dir)
    echo "lab: building $dir, this takes some minutes" >&2
    rm -rf "$dir" "$LAB"/image-* # a machine that still runs from an old image keeps its open files
    mkdir -p "$dir"
    make_image "$dir"
    echo "lab: built $dir (kernel $(cat "$dir/complete"))" >&2
    exec 8>&-
}

run() {
    local forward="" timeout=300 out="" memory=1536 job="" input=/dev/null pid_file="" wire=""
    while [ $# -gt 0 ]; do
        case $1 in
        --forward) forward+=",hostfwd=tcp:127.0.0.1:${2%:*}-:${2#*:}" && shift 2 ;;
        --timeout) timeout=$2 && shift 2 ;;
        --out) out=$2 && shift 2 ;;
        --memory) memory=$2 && shift 2 ;;
        --pid-file) pid_file=$2 && shift 2 ;;
        --wire) wire=$2 && shift 2 ;;
        --input) input=$2 && shift 2 ;;
        -*) die "unknown option $1" ;;
        *) job=$1 && shift ;;
        esac
    done
    [ -n "$job" ] && [ -f "$job/job.sh" ] || die "no job.sh in '$job'"
    build
    local image t code
    image=$(image_dir)
    t=$(mktemp -d "${TMPDIR:-/tmp}/rpcrdma-lab.XXXXXX")
    # shellcheck disable=SC2064 # the directory of this run, now
    trap "rm -rf '$t'" EXIT
    mkfs.ext4 -q -F -d "$job" "$t/job.img" "$(($(du -sm "$job" | cut -f1) * 5 / 4 + 16))M" >/dev/null 2>&1 ||
        die "could not make a disk of $job"
    truncate -s 64M "$t/out.img"
    mkfs.ext4 -q -F "$t/out.img" >/dev/null 2>&1
    # Seen once beside much other work: the emulated machine reset itself before its kernel had a console. Nothing of the job has run
    # then, and it is started again; what the console said is kept.
    local attempt
    for attempt in 1 2 3; do
        machine | tee "$t/console" | sed -u -n '/LAB-UP/,/LAB-EXIT/{s/\r$//;s/^.*LAB-UP/LAB-UP/;p}' || true
        grep -aq LAB-UP "$t/console" && break
        tail -20 "$t/console" >&2
        [ "$attempt" -lt 3 ] || die "the machine did not boot"
        echo "lab: the machine did not boot, attempt $attempt" >&2
    done
    if [ -n "$out" ]; then
        mkdir -p "$out"
        debugfs -R "rdump / $out" "$t/out.img" >/dev/null 2>&1 || true
        rmdir "$out/lost+found" 2>/dev/null || true
    fi
    code=$(tr -d '\r' <"$t/console" | sed -n 's/^LAB-EXIT \([0-9]*\)$/\1/p' | tail -1)
    return "${code:-124}"
}

case "${1:-}" in
check) check ;;
build) build ;;
run) shift && run "$@" ;;
*)
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"
    exit 2
    ;;
esac
