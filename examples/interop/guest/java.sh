# How a program of this project runs in the guest: java and options. In the directory of the job, where an archive of classes may be,
# made on the host with the same options: classes.jsa. Where each access to a buffer was recorded, a stack trace each would take most
# of the time in an emulated machine.
java=(java)
[ ! -d jdk ] || java=(jdk/bin/java --sun-misc-unsafe-memory-access=allow)
[ ! -f classes.jsa ] || java+=(-XX:SharedArchiveFile=classes.jsa)
options=(-Xmx256m -XX:MaxDirectMemorySize=256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
    -Djava.library.path=/job -Dio.netty.leakDetection.level=paranoid -Dio.netty.leakDetection.targetRecords=0)
