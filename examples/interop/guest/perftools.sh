# perftest's tools as /job/cases says, on the device `device`. Sourced.
mapfile -t cases </job/cases

# tool CASE PORT [SERVER]: -R connects by rdma_cm, as iWARP has to; -F leaves the CPU's frequency alone.
tool() {
    local name size count receives _ options
    read -r name size count receives _ <<<"${cases[$1]}"
    options="-d $device -R -F -p $2 -s $size -n $count"
    [ "$name" != ib_send_bw ] || options+=" -r $receives"
    # shellcheck disable=SC2086 # options
    exec timeout 900 "$name" $options ${3:-}
}
