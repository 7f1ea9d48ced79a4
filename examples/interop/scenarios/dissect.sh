# Proves: statement 3, tshark finds no malformed MPA, DDP, RDMAP or RPC-over-RDMA frame of ours in either capture.
# Every byte that we sent has to be inside a dissected frame, so that nothing can hide as undissected data.

# shark CAPTURE ARGUMENT...: MPA is found by its start-up frames, whatever the port.
shark() {
    local file=$1
    shift
    tshark -r "$file" --enable-heuristic iwarp_mpa_tcp "$@" 2>>"$work/tshark.log"
}

# field CAPTURE FILTER FIELD: one value for each line; a frame can hold several FPDUs.
field() { shark "$1" -Y "$2" -T fields -e "$3" | tr ',' '\n' | sed '/^$/d'; }

# The bytes of FPDUs with the given ULPDU lengths: length field, ULPDU, padding to 4, CRC field (RFC 5044, 4.1).
fpdu_bytes() { awk '{ n += 2 + $1 + (4 - ($1 + 2) % 4) % 4 + 4 } END { print n + 0 }'; }

# Expert complaints about our layers. Wireshark knows RFC 5044 alone and takes revision 2 (RFC 6581) for a fault.
complaints() {
    shark "$1" -q -z "expert,warn,$2" | grep -iE ' (IWARP_MPA|IWARP_DDP_RDMAP|RPCoRDMA) ' |
        grep -vE 'Res field is NOT set to zero|Rev field is NOT set to one'
}

# dissect NAME CAPTURE OURS MPA_FIELD: OURS is the filter of what we sent, MPA_FIELD our start-up frame.
dissect() {
    local name=$1 file=$2 ours=$3 start=$4 lost bytes started
    lost=$(sed -n "s/^Packets received\/dropped on interface.*: [0-9]*\/\([0-9]*\).*/\1/p" "${file%/*}/capture.log")
    at_most "$name: the capture lost no packet" 0 "${lost:-1}"
    field "$file" "rpcordma && $ours" rpcordma.xid >"$work/$name.xids"
    at_least "$name: RPC-over-RDMA messages of ours" 300 "$(wc -l <"$work/$name.xids")"
    at_most "$name: ... of which not version 1" 0 "$(field "$file" "rpcordma && $ours" rpcordma.version | grep -cvx 1 || true)"
    at_most "$name: ... of which neither RDMA_MSG nor RDMA_NOMSG" 0 \
        "$(field "$file" "rpcordma && $ours" rpcordma.msg_type | grep -cvxE '[01]' || true)"
    complaints "$file" "$ours" >"$work/$name.complaints" || true
    at_most "$name: malformed or doubtful MPA, DDP, RDMAP or RPC-over-RDMA frames of ours" 0 "$(wc -l <"$work/$name.complaints")"
    at_most "$name: Terminates of ours" 0 "$(field "$file" "iwarp_rdma.terminate && $ours" frame.number | wc -l)"
    at_most "$name: connections without a start-up frame of ours" 0 \
        "$(($(field "$file" 'tcp.flags.syn == 1 && tcp.flags.ack == 0' frame.number | wc -l) - $(field "$file" "$start && $ours" frame.number | wc -l)))"
    bytes=$(field "$file" "tcp.len > 0 && $ours && !tcp.analysis.retransmission" tcp.len | awk '{ n += $1 } END { print n + 0 }')
    started=$(field "$file" "$start && $ours" iwarp_mpa.pdlength | awk '{ n += 20 + $1 } END { print n + 0 }')
    at_most "$name: bytes of ours outside of a dissected frame, of $bytes" 0 \
        "$((bytes - started - $(field "$file" "iwarp_mpa.ulpdulength && $ours" iwarp_mpa.ulpdulength | fpdu_bytes)))"
}

if ! have_tshark; then
    result "SKIP tshark is not installed"
else
    for of in kernel-client kernel-server; do
        if [ ! -f "$out/$of/capture.pcapng" ]; then
            result "SKIP $of has left no capture; run the scenario $of first, as root"
            continue
        fi
        p=$(cat "$out/$of/capture.port")
        case $of in
        kernel-client) dissect "$of" "$out/$of/capture.pcapng" "tcp.srcport == $p" iwarp_mpa.key.rep ;;
        kernel-server) dissect "$of" "$out/$of/capture.pcapng" "tcp.dstport == $p" iwarp_mpa.key.req ;;
        esac
    done
fi
