// Redisson's RLock, fair lock or RedissonRedLock, extended by its watchdog. At the root of the repository,
// after make holders: make faults LOCK='examples/holders/java/holder RedissonHolder' BACKEND=redis CHECK=1, or with `RedissonHolder fair`, or `RedissonHolder redlock` and BACKEND=redis5
import java.util.Scanner;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class RedissonHolder {
    private static RLock lock;
    private static boolean holds;

    private static RedissonClient connect(String address) {
        Config config = new Config().setLockWatchdogTimeout(Long.parseLong(System.getenv("LEASE")));
        config.useSingleServer().setAddress("redis://" + address);
        return Redisson.create(config);
    }

    private static RLock lock(Stream<RedissonClient> servers, String kind, String key) {
        return switch (kind) {
            case "fair" -> servers.findFirst().get().getFairLock(key);
            case "redlock" -> new RedissonRedLock(servers.map(server -> server.getLock(key)).toArray(RLock[]::new));
            default -> servers.findFirst().get().getLock(key);
        };
    }

    private static synchronized void say(String what, boolean holdsNow) {
        holds = holdsNow;
        if (!what.isEmpty()) System.out.println(System.nanoTime() / 1000 + " " + what);
    }

    private static synchronized void write() {
        if (holds) say("write 0", true);
    }

    public static void main(String[] args) {
        var servers = Stream.of(System.getenv("REDIS_ADDRS").split(",")).map(RedissonHolder::connect).toList();
        Executors.newScheduledThreadPool(1).scheduleWithFixedDelay(RedissonHolder::write, 0, 10, TimeUnit.MILLISECONDS);
        say("ready", false);
        for (Scanner in = new Scanner(System.in); in.hasNext(); ) {
            try {
                if (in.next().equals("acquire")) {
                    lock = lock(servers.stream(), args.length > 0 ? args[0] : "", in.next());
                    long lease = in.nextLong(); // the watchdog's, which it has from LEASE
                    boolean acquired = lock.tryLock(in.nextLong(), TimeUnit.MILLISECONDS);
                    say(acquired ? "acquired 0" : "refused", acquired);
                } else {
                    say("", false);
                    lock.unlock();
                    say("released", false);
                }
            } catch (IllegalMonitorStateException e) {
                say("lost", false);
            } catch (Exception e) {
                say("unknown " + e.getClass().getName(), false);
            }
        }
        System.exit(0);
    }
}
