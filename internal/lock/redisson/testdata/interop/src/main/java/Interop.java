import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * The real Redisson, told what to do by lines on a loopback connection, each of
 * which gets one line back. A connection is a thread, and so an owner of locks.
 *
 * usage: Interop redis-url port watchdog-ms
 */
public final class Interop {
    private final RedissonClient redisson;
    private final Map<String, String> permits = new HashMap<>();

    private Interop(RedissonClient redisson) {
        this.redisson = redisson;
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.setCodec(StringCodec.INSTANCE).setLockWatchdogTimeout(Long.parseLong(args[2]));
        config.useSingleServer().setAddress(args[0]);
        RedissonClient redisson = Redisson.create(config);
        try (ServerSocket door = new ServerSocket(Integer.parseInt(args[1]), 64, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket socket = door.accept();
                socket.setTcpNoDelay(true);
                Thread thread = new Thread(() -> new Interop(redisson).serve(socket));
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    private void serve(Socket socket) {
        try (socket;
                BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
                PrintWriter out = new PrintWriter(socket.getOutputStream(), true)) {
            for (String line; (line = in.readLine()) != null; ) {
                out.println(answer(line.split(" ")));
            }
        } catch (java.io.IOException gone) {
            // the test has hung up
        }
    }

    private String answer(String[] words) {
        try {
            return obey(words);
        } catch (Throwable e) {
            return "error " + e.toString().replace('\n', ' ');
        }
    }

    /** Commands are: verb kind name arguments. */
    private String obey(String[] w) throws Exception {
        String kind = w[1], name = w[2];
        switch (w[0]) {
            case "lock": // wait-ms
                return lock(kind, name, Long.parseLong(w[3])) ? "ok" : "held";
            case "unlock":
                unlock(kind, name);
                return "ok";
            case "force":
                return "" + rlock(kind, name).forceUnlock();
            case "token":
                return "" + ((RFencedLock) rlock(kind, name)).getToken();
            case "compete": // handovers me
                return compete(kind, name, Integer.parseInt(w[3]), w[4]);
            case "read":
                return read(name);
            case "permits":
                return "" + (kind.equals("permit") ? permit(name).trySetPermits(Integer.parseInt(w[3]))
                        : redisson.getSemaphore(name).trySetPermits(Integer.parseInt(w[3])));
            case "count":
                return "" + redisson.getCountDownLatch(name).trySetCount(Long.parseLong(w[3]));
            case "down":
                redisson.getCountDownLatch(name).countDown();
                return "ok";
            case "await":
                return redisson.getCountDownLatch(name).await(Long.parseLong(w[3]), TimeUnit.MILLISECONDS) ? "ok" : "held";
            default:
                throw new IllegalArgumentException(w[0]);
        }
    }

    private RPermitExpirableSemaphore permit(String name) {
        return redisson.getPermitExpirableSemaphore(name);
    }

    private RLock rlock(String kind, String name) {
        switch (kind) {
            case "lock": return redisson.getLock(name);
            case "fair": return redisson.getFairLock(name);
            case "fenced": return redisson.getFencedLock(name);
            case "read": return redisson.getReadWriteLock(name).readLock();
            case "write": return redisson.getReadWriteLock(name).writeLock();
            case "multi": return redisson.getMultiLock(redisson.getLock(name + ":1"), redisson.getLock(name + ":2"));
            default: throw new IllegalArgumentException(kind);
        }
    }

    /** lock takes it with the watchdog on, where there is one. */
    private boolean lock(String kind, String name, long wait) throws InterruptedException {
        switch (kind) {
            case "semaphore":
                return redisson.getSemaphore(name).tryAcquire(java.time.Duration.ofMillis(wait));
            case "permit":
                String id = permit(name).tryAcquire(wait, 60_000, TimeUnit.MILLISECONDS);
                return id != null && permits.put(name, id) == null;
            default:
                return rlock(kind, name).tryLock(wait, -1, TimeUnit.MILLISECONDS);
        }
    }

    private void unlock(String kind, String name) {
        switch (kind) {
            case "semaphore": redisson.getSemaphore(name).release(); break;
            case "permit": permit(name).release(permits.remove(name)); break;
            default: rlock(kind, name).unlock();
        }
    }

    /**
     * compete takes the lock until it has been handed from one competitor to
     * another often enough. Reading and writing what it protects are two
     * commands. It answers how often it has had the lock.
     */
    private String compete(String kind, String name, int handovers, String me) throws Exception {
        RBucket<String> protectee = redisson.getBucket(name + ":protected");
        RBucket<String> copy = redisson.getBucket(name + ":copy");
        for (int mine = 0; ; mine++) {
            if (!lock(kind, name, 60_000)) {
                throw new IllegalStateException("waited a minute for " + name);
            }
            try {
                String[] is = protectee.get().split(" "); // takings, handovers, last, crossings
                if (Integer.parseInt(is[1]) >= handovers) {
                    return "" + mine;
                }
                String next = (Integer.parseInt(is[0]) + 1)
                        + " " + (Integer.parseInt(is[1]) + (is[2].equals(me) ? 0 : 1))
                        + " " + me
                        + " " + (Integer.parseInt(is[3]) + (is[2].charAt(0) == me.charAt(0) ? 0 : 1));
                protectee.set(next);
                copy.set(next);
            } finally {
                unlock(kind, name);
            }
            Thread.sleep(1); // lets another have it
        }
    }

    /** read looks at what writers keep equal. */
    private String read(String name) {
        RLock lock = rlock("read", name);
        lock.lock();
        try {
            String one = redisson.<String>getBucket(name + ":protected").get();
            String two = redisson.<String>getBucket(name + ":copy").get();
            return one.equals(two) ? "ok" : "torn " + one + " / " + two;
        } finally {
            lock.unlock();
        }
    }
}
