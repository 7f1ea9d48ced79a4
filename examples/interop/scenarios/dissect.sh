# Proves: statement 3, tshark finds no malformed MPA, DDP, RDMAP or RPC-over-RDMA frame of ours in either capture.
# Every byte that we sent has to be inside a dissected frame, so that nothing can hide as undissected data.

# MPA is found by its start-up frames, whatever the port: a client's is now and then one that another protocol has.
shark() { tshark -r "$1" -o tcp.try_heuristic_first:TRUE --enable-heuristic iwarp_mpa_tcp "${@:2}" 2>>"$work/tshark.log"; }

# Expert complaints about our layers. Wireshark knows RFC 5044 alone and takes revision 2 (RFC 6581) for a fault.
complaints() {
    shark "$1" -q -z "expert,warn,$2" | grep -iE ' (IWARP_MPA|IWARP_DDP_RDMAP|RPCoRDMA) ' |
        grep -vE 'Res field is NOT set to zero|Rev field is NOT set to one'
}

# field N: the Nth column of our frames, as far as it has a value. Columns are named where they are made, below.
field() { awk -F'\t' -v n="$1" '$n != ""  { print $n }' "$frames"; }
how_many() { grep -c "$@" || true; }

# dissect NAME PORT OURS: OURS is tcp.srcport for a server on that port, tcp.dstport for a client of it.
dissect() {
    local name=$1 port=$2 side=$3 ours="$3 == $2" lost whole=$work/$1.pcap frames=$work/$1.frames bytes left
    lost=$(sed -n 's/^Packets received\/dropped on interface.*: [0-9]*\/\([0-9]*\) .*/\1/p' "$out/$name/capture.log")
    at_most "$name: packets that the capture lost" 0 "${lost:-1}"
    "$java" "$here/Resegment.java" "$out/$name/capture.pcap" "$whole" >"$work/$name.streams" 2>"$work/$name.log" || {
        fail "$name: the capture is made of whole MPA frames" "$(head -1 "$work/$name.log")"
        return
    }
    #                                             1                           2                 3                       4
    shark "$whole" -Y "tcp.len > 0 && $ours" -T fields -e iwarp_mpa.pdlength -e rpcordma.xid -e rpcordma.version -e rpcordma.msg_type \
        -e iwarp_mpa.ulpdulength -e iwarp_rdma.opcode -e iwarp_rdma.terminate >"$frames" # 5, 6, 7
    at_least "$name: RPC-over-RDMA messages of ours" 300 "$(field 2 | wc -l)"
    at_most "$name: ... of which not version 1" 0 "$(field 3 | how_many -vx 1)"
    at_most "$name: ... of which neither RDMA_MSG nor RDMA_NOMSG" 0 "$(field 4 | how_many -vxE '[01]')"
    at_least "$name: RDMAP messages of ours" 300 "$(field 6 | wc -l)"
    at_most "$name: Terminates of ours" 0 "$(field 7 | wc -l)"
    complaints "$whole" "$ours" >"$work/$name.complaints" || true
    at_most "$name: malformed or doubtful MPA, DDP, RDMAP or RPC-over-RDMA frames of ours" 0 "$(wc -l <"$work/$name.complaints")"
    at_most "$name: connections without a start-up frame of ours" 0 \
        "$(($(shark "$whole" -Y 'tcp.flags.syn == 1 && tcp.flags.ack == 0' | wc -l) - $(field 1 | wc -l)))"
    # A start-up frame is 20 bytes and private data; an FPDU: length, ULPDU, padding to 4, CRC field (RFC 5044, 4.1).
    bytes=$(awk -F'\t' '$1 != "" { n += 20 + $1 } $5 != "" { n += 2 + $5 + (4 - ($5 + 2) % 4) % 4 + 4 } END { print n + 0 }' "$frames")
    left=$(awk -v p="$port" -v c="$([ "$side" = tcp.srcport ] && echo 1 || echo 2)" '$c == p { n += $4 + $5 } END { print n + 0 }' \
        "$work/$name.streams")
    at_most "$name: bytes of ours outside of a dissected frame, of $left" 0 "$((left - bytes))"
}

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if ! have_tshark; then
    result "SKIP tshark is not installed"
else
    for of in kernel-client kernel-server; do
        if [ ! -f "$out/$of/capture.pcap" ]; then
            result "SKIP $of has left no capture; run the scenario $of first, as root"
            continue
        fi
        p=$(cat "$out/$of/capture.port")
        case $of in
        kernel-client) dissect "$of" "$p" tcp.srcport ;;
        kernel-server) dissect "$of" "$p" tcp.dstport ;;
        esac
    done
fi
