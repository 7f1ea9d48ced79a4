# Proves: statement 4, the server survives lost guests, garbage and 50 mounts; memory and file descriptors return.
RSS_MARGIN_KIB=$((64 * 1024)) # what the JVM itself may still warm up: code cache, metaspace, allocator arenas
HEAP_MARGIN_KIB=$((4 * 1024))

descriptors() { find "/proc/$server_pid/fd" -mindepth 1 2>/dev/null | wc -l; }
rss() { awk '/^VmRSS:/ { print $2 }' "/proc/$server_pid/status"; }
jcmd() { "$(dirname "$(readlink "/proc/$server_pid/exe")")/jcmd" "$@"; } # of the JDK that runs the server
live_heap() { jcmd "$server_pid" GC.class_histogram 2>/dev/null | awk '$1 == "Total" { print int($3 / 1024) }'; } # collects first
collect() { jcmd "$server_pid" GC.run >/dev/null 2>&1; }
descriptors_at_most() { [ "$(descriptors)" -le "$1" ]; }
pings() { client ping "127.0.0.1:$port" -c 3 --timeout 60; }

# settled: the number of descriptors has not changed for three seconds.
settled() {
    local before
    before=$(descriptors)
    sleep 3
    [ "$before" = "$(descriptors)" ]
}

# A connection that has been started up: MPA request with Linux's private data, the reply read.
start_up() {
    exec 3<>"/dev/tcp/127.0.0.1/$port" && printf "$MPA_REQUEST" >&3 && timeout 10 head -c 20 <&3 >/dev/null
}

MPA_REQUEST='MPA ID Req Frame\x10\x02\x00\x0c\x00\x80\x00\x00\xf6\xab\x0e\x18\x01\x01\x03\x03'

# The FPDU of one Send of 40 bytes that follow: ULPDU length 58, DDP untagged and last, RDMAP Send, queue 0, MSN 1.
SEND_40='\x00\x3a\x41\x43\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00'

# Each of these sends its kind of garbage on descriptor 3 and leaves it open.
random_bytes() { exec 3<>"/dev/tcp/127.0.0.1/$port" && head -c 4096 /dev/urandom >&3; }
request_with_huge_private_data() {
    exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'MPA ID Req Frame\x10\x02\xff\xff' >&3 && head -c 65535 /dev/urandom >&3
}
request_of_unknown_revision() { exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'MPA ID Req Frame\x10\x77\x00\x00' >&3; }
half_a_request() { exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'MPA ID Re' >&3; }
nothing_at_all() { exec 3<>"/dev/tcp/127.0.0.1/$port"; }
garbage_frames() { start_up && head -c 65536 /dev/urandom >&3; }
frame_of_length_zero() { start_up && head -c 64 /dev/zero >&3; }
garbage_message() { start_up && { printf "$SEND_40" && head -c 40 /dev/urandom && printf '\0\0\0\0'; } >&3; }
write_to_unknown_memory() { start_up && { printf '\x00\x16\xc1\x40\xde\xad\xbe\xef\0\0\0\0\0\0\x10\0' && printf '12345678\0\0\0\0'; } >&3; }
half_a_frame() { start_up && printf '\x10\x00\x41\x43' >&3; }

KINDS="random_bytes request_with_huge_private_data request_of_unknown_revision half_a_request nothing_at_all
garbage_frames frame_of_length_zero garbage_message write_to_unknown_memory half_a_frame"

# A broken pipe is what the sender of garbage has to expect.
send_garbage() { (trap '' PIPE && "$1" && sleep "$2") >/dev/null 2>&1 || true; }

# The server ends the connection of one that starts and never goes on.
ends_idle_start_up() { (nothing_at_all && timeout 60 cat <&3 >/dev/null); }

export_dir=$work/export
mkdir -p "$export_dir" "$work/job"
head -c 20000000 /dev/urandom >"$export_dir/big"
digests "$export_dir" >"$work/job/big.sha256"

if start_server "$export_dir"; then
    # 1. Warm-up, then a guest that freezes in mid-transfer and is then gone.
    start_guest survive-lost "PORT=$port" "MOUNT_PORT=$mount_port" -- --timeout 1500
    if guest_says WARM; then
        for i in 1 2 3; do pings >/dev/null 2>&1 || true; done
        for kind in $KINDS; do send_garbage "$kind" 0; done
        wait_for 60 settled || true
        collect
        descriptors0=$(descriptors) rss0=$(rss) heap0=$(live_heap)
        echo "   after warm-up: $descriptors0 descriptors, $rss0 KiB resident, $heap0 KiB live heap"
        tell go
        guest_says MID-TRANSFER || true
        kill -STOP "$(qemu_pid)"
        check "a client is served while a guest hangs in mid-transfer" pings
        kill -KILL "$(qemu_pid)"
        wait "$guest_pid" || true
        report "$work/$guest.log"
        check "descriptors return after a guest was lost in mid-transfer" wait_for 60 descriptors_at_most "$descriptors0"

        # 2. Garbage: 20 clients of each kind, all at the same time, some leave at once and some stay.
        garbage=()
        for kind in $KINDS; do
            for i in {1..20}; do
                send_garbage "$kind" $((i % 2 * 5)) &
                garbage+=($!)
            done
            check "a client is served beside 20 clients of garbage: $kind" pings
        done
        wait "${garbage[@]}" || true
        check "a connection that never starts up is ended" ends_idle_start_up
        check "descriptors return after garbage" wait_for 60 descriptors_at_most "$descriptors0"

        # 3. Fifty mounts; the last guest powers off in mid-transfer.
        start_guest survive-mounts "PORT=$port" "MOUNT_PORT=$mount_port" -- --timeout 1500
        wait "$guest_pid" || true
        report "$work/$guest.log"
        if grep -aq '^MID-TRANSFER' "$work/$guest.log"; then ok "the guest powers off in mid-transfer"
        else fail "the guest powers off in mid-transfer" "$(tail -3 "$work/$guest.log" | tr '\n' '|')"; fi
        check "descriptors return after 50 mounts and a power-off" wait_for 60 descriptors_at_most "$descriptors0"
        collect
        at_most "live heap in KiB is where it was, $heap0 and a margin of $HEAP_MARGIN_KIB" $((heap0 + HEAP_MARGIN_KIB)) "$(live_heap)"
        at_most "resident memory in KiB is where it was, $rss0 and a margin of $RSS_MARGIN_KIB" $((rss0 + RSS_MARGIN_KIB)) "$(rss)"
        check "the server still serves a mount" timeout 120 "$root/rpcrdma" nfs get --mount-port "$mount_port" \
            "nfs://127.0.0.1:$port/big" "$work/big"
        check "... with an equal digest" cmp "$work/big" "$export_dir/big"
    fi
    stop_server
fi
