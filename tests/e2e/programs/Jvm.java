// needs: java
// limit: 120
// threads, processes, files, sockets
import java.io.*; import java.net.*; import java.nio.file.*; import java.util.concurrent.*; import java.util.concurrent.atomic.*;
public class Jvm {
    public static void main(String[] a) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(6); AtomicLong sum = new AtomicLong(); CountDownLatch latch = new CountDownLatch(100);
        for (int i = 0; i < 100; i++) { final int n = i; pool.submit(() -> { synchronized (sum) { sum.addAndGet(n); } latch.countDown(); }); }
        latch.await(); pool.shutdown(); System.out.println(sum);
        Process p = new ProcessBuilder("sh", "-c", "cat; exit 4").start(); p.getOutputStream().write("piped".getBytes()); p.getOutputStream().close();
        System.out.println(new String(p.getInputStream().readAllBytes()) + p.waitFor());
        Files.write(Path.of("out"), new byte[100000]); System.out.println(Files.size(Path.of("out")));
        ServerSocket s = new ServerSocket(0); new Thread(() -> { try (Socket c = s.accept()) { c.getOutputStream().write(42); } catch (IOException e) { } }).start();
        System.out.println(new Socket("127.0.0.1", s.getLocalPort()).getInputStream().read());
        try { Object o = null; o.hashCode(); } catch (NullPointerException e) { System.out.println("npe"); }
        for (int i = 0; i < 50; i++) { Thread t = new Thread(() -> { byte[] b = new byte[100000]; }); t.start(); t.join(); }
        System.gc(); Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook"))); System.exit(9);
    }
}
