# Sourced by the commands beside it: builds the benchmarks when they are missing or older than the sources.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jar=$root/benchmarks/target/benchmarks.jar
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

if [ ! -f "$jar" ] || [ -n "$(find "$root/pom.xml" "$root"/*/pom.xml "$root"/*/src/main -newer "$jar" -print -quit)" ]; then
    echo "benchmarks: building $jar" >&2
    (cd "$root" && mvn -q -B -DskipTests -pl benchmarks -am package) >&2
    touch "$jar"
fi
