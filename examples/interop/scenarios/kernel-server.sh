# Proves: statement 2, ping, nfs ls, get and put, and each procedure, on the kernel's NFS server; its answers to bad calls.
port=$(free_port 20049)
mount_port=$(free_port 20048)
make_sizes "$work/job/sizes"
digests "$work/job/sizes" >"$work/sizes.sha256"
mkdir -p "$work/got"

url=nfs://127.0.0.1:$port/export

get_sizes() {
    local s
    for s in $SIZES; do client nfs get --mount-port "$mount_port" "$url/sizes/f.$s" "$work/got/f.$s" || return; done
    diff <(digests "$work/got") "$work/sizes.sha256"
}

put_sizes() {
    local s
    for s in $SIZES; do client nfs put --mount-port "$mount_port" "$work/job/sizes/f.$s" "$url/put/f.$s" || return; done
}

# Every name and every size is in the listing, whatever else a line says.
list_sizes() {
    local s
    client nfs ls --mount-port "$mount_port" "$url/sizes" | tee "$work/ls" || return
    for s in $SIZES; do grep -qE "(^|[^0-9])$s([^0-9]|\$).*f\.$s\$" "$work/ls" || grep -qE "f\.$s[[:space:]]+.*$s" "$work/ls" || return; done
}

list_names() {
    client nfs ls --mount-port "$mount_port" "$url/names" >"$work/ls.names" || return
    [ "$(grep -c 'name-[0-9]*-x*$' "$work/ls.names")" = 3500 ]
}

no_such_file() {
    local message status=0
    message=$(client nfs get --mount-port "$mount_port" "$url/sizes/none" "$work/none" 2>&1 >/dev/null) || status=$?
    echo "exit $status: $message"
    [ $status = 1 ] && [ "$(echo "$message" | wc -l)" = 1 ] && [ ! -e "$work/none" ]
}

start_capture "$port"
start_guest kernel-server -- --timeout 1500 --forward "$port:20049" --forward "$mount_port:20048"
if guest_says READY; then
    check "ping answers 400 times" client ping "127.0.0.1:$port" -c 400 --timeout 60
    cp "$work/check.log" "$work/ping.log"
    check "nfs ls shows every name and size" list_sizes
    check "nfs ls of 3,500 long names" list_names
    check "nfs get of every size has equal digests" get_sizes
    check "nfs put of every size" put_sizes
    check "nfs get of a missing file says so in one line, exit 1" no_such_file
    probe ServerProbe "$port" "$mount_port" /export
    stop_capture # what follows is malformed on purpose
    probe BadCalls "$port"
    check "ping answers after the bad calls" client ping "127.0.0.1:$port" -c 10 --timeout 60
    tell stop
fi
finish_guest
check "the guest sees equal digests of what was put" \
    diff <(sed -n 's/^DIGEST //p' "$work/$guest.log" | tr -d '\r') "$work/sizes.sha256"
