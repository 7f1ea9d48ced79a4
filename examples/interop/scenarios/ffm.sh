# Proves: libibverbs and librdmacm called by the JDK: on soft-iWARP and soft-RoCE, with the kernel's client, and with the software RNIC.
# It takes a JDK of version 22 or newer, and a jar that such a one has built.
jdk=$(newer_jdk)
if [ -z "$jdk" ]; then
    result "NOTE the provider ffm was not tried: there is no JDK of version 22 or newer; set JAVA_HOME to one, or RPCRDMA_JDK22"
elif ! has_ffm "$jdk"; then
    result "NOTE the provider ffm was not tried: $root/examples/target/rpcrdma.jar was built without it; build with $jdk"
else
    mkdir -p "$work/job" "$work/export"
    cp "$root/examples/target/rpcrdma.jar" "$work/job/"
    check "a Java for the guest" "$jdk/bin/jlink" --strip-debug --no-header-files --no-man-pages --compress zip-1 \
        --generate-cds-archive --output "$work/job/jdk" \
        --add-modules java.base,java.logging,java.management,java.net.http,jdk.management,java.naming,java.security.jgss,java.security.sasl,java.xml,jdk.unsupported
    # The guest is emulated: classes that are parsed and verified here start there in a shorter time.
    archive_classes() (
        cd "$work/job" && . guest/java.sh &&
            exec "${java[@]}" -XX:ArchiveClassesAtExit=classes.jsa "${options[@]}" -jar rpcrdma.jar demo --device iwarp --size 100001
    )
    "$jdk/bin/jar" cf "$work/job/interop.jar" -C "$root/examples/target/test-classes" org
    (java_program Perftest cases ffm) >"$work/job/cases"
    cp -r "$here/guest" "$work/job/guest"
    check "an archive of classes for it" archive_classes
    if start_server "$work/export"; then
        guest_port=$(free_port 21049)
        start_guest verbs PROVIDER=ffm DEVICE=siw "HOST_PORT=$port" -- --timeout 2400 --memory 2048 --forward "$guest_port:20049"
        if guest_says READY; then
            check "the software RNIC pings the provider ffm" client ping "127.0.0.1:$guest_port" --device iwarp -c 20 --timeout 60
            tell go
        fi
        finish_guest
        stop_server
    fi
    start_guest verbs PROVIDER=ffm DEVICE=rxe -- --timeout 2400 --memory 2048
    finish_guest
fi
