// Curator's InterProcessMutex, with a listener for SUSPENDED and LOST. At the root of the repository,
// after make holders: make faults LOCK='examples/holders/java/holder CuratorHolder' BACKEND=zookeeper CHECK=1
import java.util.Scanner;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorHolder {
    private static InterProcessMutex mutex;
    private static boolean holds, connected;

    private static synchronized void say(String what, boolean holdsNow) {
        holds = holdsNow;
        if (!what.isEmpty()) System.out.println(System.nanoTime() / 1000 + " " + what);
    }

    private static synchronized void write() {
        if (holds && connected) say("write 0", true);
    }

    // Curator: after SUSPENDED nobody can be certain to hold the lock until RECONNECTED; after LOST nobody holds it.
    private static synchronized void watch(CuratorFramework curator, ConnectionState state) {
        connected = state.isConnected();
        if (holds && state == ConnectionState.LOST) say("lost", false);
    }

    public static void main(String[] args) {
        CuratorFramework curator = CuratorFrameworkFactory.builder().connectString(System.getenv("ZOOKEEPER_ADDRS"))
                .sessionTimeoutMs(Integer.parseInt(System.getenv("LEASE")))
                .retryPolicy(new ExponentialBackoffRetry(1000, 3)).build();
        curator.getConnectionStateListenable().addListener(CuratorHolder::watch);
        curator.start();
        Executors.newScheduledThreadPool(1).scheduleWithFixedDelay(CuratorHolder::write, 0, 10, TimeUnit.MILLISECONDS);
        say("ready", false);
        for (Scanner in = new Scanner(System.in); in.hasNext(); ) {
            try {
                if (in.next().equals("acquire")) {
                    mutex = new InterProcessMutex(curator, "/" + in.next());
                    long lease = in.nextLong(); // the session's, which it has from LEASE
                    boolean acquired = mutex.acquire(in.nextLong(), TimeUnit.MILLISECONDS);
                    say(acquired ? "acquired 0" : "refused", acquired);
                } else {
                    say("", false);
                    mutex.release();
                    say("released", false);
                }
            } catch (Exception e) {
                say("unknown " + e.getClass().getName(), false);
            }
        }
        System.exit(0);
    }
}
