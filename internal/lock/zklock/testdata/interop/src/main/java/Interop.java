import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A server that runs commands by the real Curator. Each line on a connection is
 * a command, and gets one line as its reply. Each connection has a thread of
 * its own, and so is an owner of locks of its own.
 *
 * usage: Interop zookeeper-address port session-timeout-ms
 */
public final class Interop {
    private final CuratorFramework curator;
    private final Map<String, InterProcessMutex> locks = new HashMap<>();

    private Interop(CuratorFramework curator) {
        this.curator = curator;
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework curator = CuratorFrameworkFactory.newClient(
                args[0], Integer.parseInt(args[2]), 10_000, new ExponentialBackoffRetry(100, 5));
        curator.start();
        curator.blockUntilConnected();
        try (ServerSocket listener = new ServerSocket(Integer.parseInt(args[1]), 64, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket socket = listener.accept();
                socket.setTcpNoDelay(true);
                Thread thread = new Thread(() -> new Interop(curator).serve(socket));
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

    /** run runs a command: operation path argument... */
    private String run(String[] args) throws Exception {
        InterProcessMutex lock = locks.computeIfAbsent(args[1], path -> new InterProcessMutex(curator, path));
        switch (args[0]) {
            case "lock": // wait-ms
                return lock.acquire(Long.parseLong(args[2]), TimeUnit.MILLISECONDS) ? "ok" : "locked";
            case "unlock":
                lock.release();
                return "ok";
            case "queue":
                return String.join(" ", lock.getParticipantNodes());
            case "contend": // data-path min-handovers contender
                return contend(lock, args[2], Integer.parseInt(args[3]), args[4]);
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }

    /**
     * contend acquires the lock until it has been handed from one contender to
     * another minHandovers times. It returns the number of its own acquisitions.
     * The lock protects the counters in the node at path, which are read by one
     * request and written by another.
     */
    private String contend(InterProcessMutex lock, String path, int minHandovers, String contender) throws Exception {
        for (int acquisitions = 0; ; acquisitions++) {
            if (!lock.acquire(60, TimeUnit.SECONDS)) {
                throw new IllegalStateException("waited a minute");
            }
            try {
                // acquisitions, handovers, last contender, between languages
                String[] old = new String(curator.getData().forPath(path), StandardCharsets.UTF_8).split(" ");
                if (Integer.parseInt(old[1]) >= minHandovers) {
                    return "" + acquisitions;
                }
                String next = (Integer.parseInt(old[0]) + 1)
                        + " " + (Integer.parseInt(old[1]) + (old[2].equals(contender) ? 0 : 1))
                        + " " + contender
                        + " " + (Integer.parseInt(old[3]) + (old[2].charAt(0) == contender.charAt(0) ? 0 : 1));
                curator.setData().forPath(path, next.getBytes(StandardCharsets.UTF_8));
            } finally {
                lock.release();
            }
        }
    }
}
