/* Bean - Bean SECONDS: Java, to be run with -XX:+PreserveFramePointer. */
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

    public static void main(String[] arguments) {
        long end = System.nanoTime() + (long) (1e9 * Double.parseDouble(arguments[0]));
        for (int i = 0; i < 300; i++) // compiled by then
            sink = outer(sink);
        System.out.println("ready");
        while (System.nanoTime() < end)
            sink = outer(sink);
    }
}
