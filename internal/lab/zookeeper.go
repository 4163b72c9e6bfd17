package lab

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ZooKeeper is a running ZooKeeper of one server.
type ZooKeeper struct{ *Server }

// zookeeperJar is the path in Debian's package libzookeeper-java. The jar's
// manifest names the jars that it depends on.
const zookeeperJar = "/usr/share/java/zookeeper.jar"

// StartZooKeeper starts a server on a free loopback port, because ZooKeeper has no
// Unix sockets. It grants session timeouts from 200 ms to a minute.
func StartZooKeeper(l *Lab) (*ZooKeeper, error) {
	s, err := l.serveTCP(ZooKeeperServer, "zookeeper", func(dir, address string) (Program, error) {
		return zookeeperProgram(dir, address, "tickTime=100\n")
	})
	return &ZooKeeper{s}, err
}

// zookeeperProgram returns the program of a server whose clients connect to
// address. Config is added to its configuration.
func zookeeperProgram(dir, address, config string) (Program, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Program{}, err
	}
	config = "dataDir=data\nclientPortAddress=" + host + "\nclientPort=" + port + "\n" + config +
		"maxSessionTimeout=60000\nadmin.enableServer=false\n4lw.commands.whitelist=srvr,wchs,wchp\n"
	return Program{
		Args: []string{
			"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
			"-Dznode.container.checkIntervalMs=500",
			"-cp", zookeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg",
		},
		Ready: func(ctx context.Context) error { return zookeeperReady(ctx, address) },
	}, os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte(config), 0o644)
}

// zookeeperReady sends the command srvr, because ZooKeeper accepts connections
// before it serves requests.
func zookeeperReady(ctx context.Context, address string) error {
	reply, err := zookeeperCommand(ctx, address, "srvr")
	if err == nil && !strings.HasPrefix(reply, "Zookeeper version") {
		err = fmt.Errorf("srvr replied %q", reply)
	}
	return err
}

// zookeeperCommand sends one of ZooKeeper's commands of four letters and returns
// the reply.
func zookeeperCommand(ctx context.Context, address, command string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// ZooKeeper sometimes never replies on a connection that it accepted too early.
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	reply, err := io.ReadAll(conn)
	return string(reply), err
}

// Received returns how many requests the server has received, pings included.
func (z *ZooKeeper) Received(ctx context.Context) (n int, err error) {
	return z.count(ctx, "srvr", "Received:")
}

// Watches returns how many watches the server keeps for its clients.
func (z *ZooKeeper) Watches(ctx context.Context) (n int, err error) {
	return z.count(ctx, "wchs", "Total watches:")
}

// count returns the number after a name in the reply to a command.
func (z *ZooKeeper) count(ctx context.Context, command, name string) (n int, err error) {
	reply, err := zookeeperCommand(ctx, z.Address, command)
	if err != nil {
		return 0, err
	}
	_, text, _ := strings.Cut(reply, name)
	_, err = fmt.Sscan(text, &n)
	return n, err
}

// Watched reports whether a client watches a node whose path begins with prefix.
func (z *ZooKeeper) Watched(ctx context.Context, prefix string) (bool, error) {
	reply, err := zookeeperCommand(ctx, z.Address, "wchp")
	return strings.Contains("\n"+reply, "\n"+prefix), err
}
