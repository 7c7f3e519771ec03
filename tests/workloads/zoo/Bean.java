/* Bean - Bean SECONDS: Java, to be run with -XX:+PreserveFramePointer. Names its code in
 * /tmp/perf-PID.map by the virtual machine's own diagnostic command, as `jcmd PID Compiler.perfmap`. */
import java.lang.management.ManagementFactory;
import javax.management.ObjectName;

public class Bean {
    static volatile long sink;

    static long leaf(long x) {
        for (int i = 0; i < 200000; i++)
            x = x * 6364136223846793005L + 144269;
        return x;
    }

    static long middle(long x) {
        return leaf(x) + 1;
    }

    static long outer(long x) {
        return middle(x) + 1;
    }

    static void dig(double seconds) {
        long end = System.nanoTime() + (long) (1e9 * seconds);
        while (System.nanoTime() < end)
            sink = outer(sink);
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 20000; i++) // compiled by then, callers too
            dig(i < 300 ? 1e-3 : 0);
        ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"), "compilerPerfmap", null,
            null);
        System.out.println("ready");
        dig(Double.parseDouble(arguments[0]));
    }
}
