import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * A server that runs commands by the real Redisson, or the real Curator. Each line on a connection
 * is a command, and gets one line as its reply. Each connection has a thread of
 * its own, and so is an owner of locks of its own.
 *
 * usage: Interop mode addresses port timeout-ms
 *
 * The addresses are separated by commas. In mode curator it is one, of ZooKeeper, and the timeout is that
 * of the session. Otherwise they are the URLs of Redis, and the timeout is that of the watchdog. In mode
 * cluster they are the nodes of one cluster. In mode servers each is a server of its own: the first has the
 * locks, and a RedissonRedLock is over all of them.
 */
public final class Interop {
    private final RedissonClient redisson;
    private final List<RedissonClient> servers;
    private final CuratorFramework curator;
    private final Map<String, InterProcessMutex> mutexes = new HashMap<>();
    private final Map<String, String> permits = new HashMap<>();

    private Interop(List<RedissonClient> servers, CuratorFramework curator) {
        this.servers = servers;
        this.redisson = servers.isEmpty() ? null : servers.get(0);
        this.curator = curator;
    }

    public static void main(String[] args) throws Exception {
        String[] urls = args[1].split(",");
        int timeout = Integer.parseInt(args[3]);
        List<RedissonClient> servers = new ArrayList<>();
        CuratorFramework curator = args[0].equals("curator") ? connect(args[1], timeout) : null;
        if (curator != null) {
            // there is no Redis
        } else if (args[0].equals("cluster")) {
            Config config = config(timeout);
            config.useClusterServers().addNodeAddress(urls);
            servers.add(Redisson.create(config));
        } else {
            for (String url : urls) {
                Config config = config(timeout);
                config.useSingleServer().setAddress(url);
                servers.add(Redisson.create(config));
            }
        }
        try (ServerSocket listener = new ServerSocket(Integer.parseInt(args[2]), 64, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket socket = listener.accept();
                socket.setTcpNoDelay(true);
                Thread thread = new Thread(() -> new Interop(servers, curator).serve(socket));
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    private static CuratorFramework connect(String address, int sessionTimeout) throws InterruptedException {
        CuratorFramework curator = CuratorFrameworkFactory.newClient(
                address, sessionTimeout, 10_000, new ExponentialBackoffRetry(100, 5));
        curator.start();
        curator.blockUntilConnected();
        return curator;
    }

    private static Config config(long watchdogTimeout) {
        return new Config().setCodec(StringCodec.INSTANCE).setLockWatchdogTimeout(watchdogTimeout);
    }

    private void serve(Socket socket) {
        try (socket;
                BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
                PrintWriter out = new PrintWriter(socket.getOutputStream(), true)) {
            for (String line; (line = in.readLine()) != null; ) {
                out.println(reply(line.split(" ")));
            }
        } catch (java.io.IOException e) {
            // The test has closed the connection.
        }
    }

    private String reply(String[] command) {
        try {
            return run(command);
        } catch (Throwable e) {
            return "error " + e.toString().replace('\n', ' ');
        }
    }

    /** run runs a command: operation type name argument... */
    private String run(String[] args) throws Exception {
        String type = args[1], name = args[2];
        switch (args[0]) {
            case "lock": // wait-ms
                return lock(type, name, Long.parseLong(args[3])) ? "ok" : "locked";
            case "unlock":
                unlock(type, name);
                return "ok";
            case "forceUnlock":
                return "" + rlock(type, name).forceUnlock();
            case "token":
                return "" + ((RFencedLock) rlock(type, name)).getToken();
            case "contend": // min-handovers contender
                return contend(type, name, Integer.parseInt(args[3]), args[4]);
            case "compareCopies":
                return compareCopies(name);
            case "trySetPermits": // permits
                return "" + (type.equals("permit") ? permit(name).trySetPermits(Integer.parseInt(args[3]))
                        : redisson.getSemaphore(name).trySetPermits(Integer.parseInt(args[3])));
            case "trySetCount": // count
                return "" + redisson.getCountDownLatch(name).trySetCount(Long.parseLong(args[3]));
            case "countDown":
                redisson.getCountDownLatch(name).countDown();
                return "ok";
            case "await": // wait-ms
                return redisson.getCountDownLatch(name).await(Long.parseLong(args[3]), TimeUnit.MILLISECONDS) ? "ok" : "timeout";
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }

    private InterProcessMutex mutex(String name) {
        return mutexes.computeIfAbsent(name, n -> new InterProcessMutex(curator, "/locks/" + n));
    }

    private RPermitExpirableSemaphore permit(String name) {
        return redisson.getPermitExpirableSemaphore(name);
    }

    private RLock rlock(String type, String name) {
        switch (type) {
            case "lock": return redisson.getLock(name);
            case "fair": return redisson.getFairLock(name);
            case "fenced": return redisson.getFencedLock(name);
            case "read": return redisson.getReadWriteLock(name).readLock();
            case "write": return redisson.getReadWriteLock(name).writeLock();
            case "multi": return redisson.getMultiLock(redisson.getLock(name + ":1"), redisson.getLock(name + ":2"));
            case "redlock": return new RedissonRedLock(servers.stream().map(server -> server.getLock(name)).toArray(RLock[]::new));
            default: throw new IllegalArgumentException(type);
        }
    }

    /** lock acquires a lock, which the watchdog then renews, or one permit. */
    private boolean lock(String type, String name, long wait) throws Exception {
        switch (type) {
            case "curator":
                return mutex(name).acquire(wait, TimeUnit.MILLISECONDS);
            case "semaphore":
                return redisson.getSemaphore(name).tryAcquire(java.time.Duration.ofMillis(wait));
            case "permit":
                String id = permit(name).tryAcquire(wait, 60_000, TimeUnit.MILLISECONDS);
                return id != null && permits.put(name, id) == null;
            default:
                return rlock(type, name).tryLock(wait, -1, TimeUnit.MILLISECONDS);
        }
    }

    private void unlock(String type, String name) throws Exception {
        switch (type) {
            case "curator": mutex(name).release(); break;
            case "semaphore": redisson.getSemaphore(name).release(); break;
            case "permit": permit(name).release(permits.remove(name)); break;
            default: rlock(type, name).unlock();
        }
    }

    /**
     * contend acquires the lock until it has been handed from one contender to
     * another minHandovers times. It returns the number of its own acquisitions.
     * The lock protects counters, which are read by one command and written by
     * others.
     */
    private String contend(String type, String name, int minHandovers, String contender) throws Exception {
        for (int acquisitions = 0; ; acquisitions++) {
            if (!lock(type, name, 60_000)) {
                throw new IllegalStateException("waited a minute for " + name);
            }
            try {
                String[] old = read(name).split(" "); // acquisitions, handovers, last contender, between languages
                if (Integer.parseInt(old[1]) >= minHandovers) {
                    return "" + acquisitions;
                }
                String next = (Integer.parseInt(old[0]) + 1)
                        + " " + (Integer.parseInt(old[1]) + (old[2].equals(contender) ? 0 : 1))
                        + " " + contender
                        + " " + (Integer.parseInt(old[3]) + (old[2].charAt(0) == contender.charAt(0) ? 0 : 1));
                write(name, next);
            } finally {
                unlock(type, name);
            }
            Thread.sleep(1); // gives the lock to another contender
        }
    }

    private String read(String name) throws Exception {
        if (curator != null) {
            return new String(curator.getData().forPath("/counters-" + name), StandardCharsets.UTF_8);
        }
        return redisson.<String>getBucket(name + ":protected").get();
    }

    private void write(String name, String counters) throws Exception {
        if (curator != null) {
            curator.setData().forPath("/counters-" + name, counters.getBytes(StandardCharsets.UTF_8));
            return;
        }
        redisson.getBucket(name + ":protected").set(counters);
        redisson.getBucket(name + ":copy").set(counters);
    }

    /** compareCopies compares the two copies of the counters under the read lock. */
    private String compareCopies(String name) {
        RLock lock = rlock("read", name);
        lock.lock();
        try {
            String counters = redisson.<String>getBucket(name + ":protected").get();
            String copy = redisson.<String>getBucket(name + ":copy").get();
            return counters.equals(copy) ? "ok" : "different: " + counters + " / " + copy;
        } finally {
            lock.unlock();
        }
    }
}
