# Proves: Hadoop's own NFS gateway on an HDFS serves the Linux client over RDMA, by the swap of README.
# It has a module of its own, examples/hdfs, whose dependencies the build fetches for the profile hdfs alone.
classpath=$root/examples/hdfs/target/classpath
build_gateway() {
    [ -n "$(find "$root/examples/hdfs/src" "$root/examples/hdfs/pom.xml" -newer "$classpath" -print -quit 2>&1)" ] || return 0
    (cd "$root" && mvn -q -B -Phdfs -DskipTests -pl examples/hdfs -am package)
}

# Hadoop 3.4 does not run on Java 23 and newer.
gateway() {
    local java=${RPCRDMA_HDFS_JAVA_HOME:-${JAVA_HOME:-}}
    exec "${java:+$java/bin/}java" -Xmx1g --add-opens java.base/java.nio=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
        -Dio.netty.leakDetection.level=paranoid -cp "$root/examples/hdfs/target/test-classes:$(cat "$classpath")" \
        org.rpcrdma.examples.hdfs.HdfsGateway "$@"
}

# read_here NAME: a file of the kernel's, by our own client.
read_here() {
    rm -f "$work/here"
    client nfs get --mount-port "$mount_port" "nfs://127.0.0.1:$port/$1" "$work/here" && cmp "$work/here" "$2"
}

gateway_value() { sed -n "s/^$1 //p" "$work/server.log"; }

port=$(free_port 20049)
mount_port=$(free_port 20048)
make_sizes "$work/job/sizes"
digests "$work/job/sizes" >"$work/job/sizes.sha256"
check "the gateway is built" build_gateway
mkfifo "$work/server.in"
exec 8<>"$work/server.in" # open at both ends, so that nobody waits
gateway "$work/hdfs" "$port" "$mount_port" <"$work/server.in" >"$work/server.log" 2>&1 &
server_pid=$!
pids+=("$server_pid")
if wait_says 180 "$work/server.log" '^READY' "$server_pid"; then
    check "our client writes into HDFS" \
        client nfs put --mount-port "$mount_port" "$work/job/sizes/f.1000001" "nfs://127.0.0.1:$port/ours"
    start_guest hdfs "PORT=$port" "MOUNT_PORT=$mount_port" -- --timeout 1500 --wire "$work/wire.pcap"
    finish_guest
    check "our client reads what the kernel wrote" read_here sizes/f.20000000 "$work/job/sizes/f.20000000"
    echo end >&8
    wait_for 60 not_alive "$server_pid" || fail "the gateway ends" "it still runs after 60 s"
    total=$(du -cb "$work"/job/sizes/* | awk 'END { print $1 }')
    at_least "bytes that the gateway has read from its clients' memory" "$total" "$(gateway_value READ_BYTES)"
    at_least "bytes that the gateway has placed into its clients' memory" "$total" "$(gateway_value WRITE_BYTES)"
    at_most "leaks that the gateway reports" 0 "$(grep -c 'LEAK:' "$work/server.log" || true)"
else
    fail "the gateway starts" "$(tail -3 "$work/server.log" | tr '\n' '|')"
fi
exec 8>&-
