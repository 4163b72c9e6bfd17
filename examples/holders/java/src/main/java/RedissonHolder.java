// Redisson's RLock, or by the argument fair, multi or redlock another of its locks, extended by its watchdog. At the
// root, after make holders: make faults LOCK='examples/holders/java/holder RedissonHolder' BACKEND=redis CHECK=1
import java.util.*;
import java.util.concurrent.*;
import org.redisson.*;
import org.redisson.api.*;

public final class RedissonHolder {
    private static boolean holds;

    private static RedissonClient connect(String address) {
        var config = new org.redisson.config.Config().setLockWatchdogTimeout(Long.parseLong(System.getenv("LEASE")));
        config.useSingleServer().setAddress("redis://" + address);
        return Redisson.create(config);
    }

    private static RLock lock(String kind, List<RedissonClient> servers, String key) {
        RLock[] locks = servers.stream().map(server -> server.getLock(key)).toArray(RLock[]::new);
        return switch (kind) {
            case "fair" -> servers.get(0).getFairLock(key);
            case "multi" -> new RedissonMultiLock(locks);
            case "redlock" -> new RedissonRedLock(locks);
            default -> locks[0];
        };
    }

    private static synchronized void say(String what, boolean holdsNow) {
        holds = holdsNow;
        if (!what.isEmpty()) System.out.println(System.nanoTime() / 1000 + " " + what);
    }

    private static synchronized void write() {
        if (holds) say("write 0", true);
    }

    public static void main(String[] args) throws InterruptedException {
        var servers = Arrays.stream(System.getenv("REDIS_ADDRS").split(",")).map(RedissonHolder::connect).toList();
        Executors.newScheduledThreadPool(1).scheduleWithFixedDelay(RedissonHolder::write, 0, 10, TimeUnit.MILLISECONDS);
        RLock lock = null;
        say("ready", false);
        for (Scanner in = new Scanner(System.in); in.hasNextLine(); ) {
            String[] command = in.nextLine().split(" "); // the watchdog has the lease from LEASE
            try {
                if (command.length > 1) {
                    lock = lock(args.length > 0 ? args[0] : "", servers, command[1]);
                    boolean acquired = lock.tryLock(Long.parseLong(command[3]), TimeUnit.MILLISECONDS);
                    say(acquired ? "acquired 0" : "refused", acquired);
                    continue;
                }
                say("", false);
                lock.unlock();
                say("released", false);
            } catch (RuntimeException e) {
                say((e instanceof IllegalMonitorStateException ? "lost " : "unknown ") + e.getClass().getName(), false);
            }
        }
        System.exit(0);
    }
}
