# Proves: DiSNI on a real verbs stack: on soft-iWARP and soft-RoCE, with the kernel's client, and with the software RNIC.
# DiSNI's native part is not ours: RPCRDMA_LIBDISNI is the path of a libdisni.so for x86-64.
if [ ! -f "${RPCRDMA_LIBDISNI:-}" ]; then
    result "NOTE DiSNI in the guest was not tried: set RPCRDMA_LIBDISNI to the path of a libdisni.so"
else
    mkdir -p "$work/job" "$work/export"
    cp "$root/examples/target/rpcrdma.jar" "$work/job/"
    cp "$RPCRDMA_LIBDISNI" "$work/job/libdisni.so"
    "${JAVA_HOME:+$JAVA_HOME/bin/}jar" cf "$work/job/interop.jar" -C "$root/examples/target/test-classes" org
    if start_server "$work/export"; then
        guest_port=$(free_port 21049)
        start_guest verbs PROVIDER=disni DEVICE=siw "HOST_PORT=$port" -- --timeout 2400 --memory 2048 --forward "$guest_port:20049"
        if guest_says READY; then
            check "the software RNIC pings DiSNI" client ping "127.0.0.1:$guest_port" --device iwarp -c 20 --timeout 60
            tell go
        fi
        finish_guest
        stop_server
    fi
    start_guest verbs PROVIDER=disni DEVICE=rxe -- --timeout 2400 --memory 2048
    finish_guest
fi
