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
type ZooKeeper struct {
	*Server
	// Address is what a ZooKeeper client takes.
	Address string
}

// zookeeperJar is where Debian's libzookeeper-java puts it. Its manifest
// names the jars that it needs.
const zookeeperJar = "/usr/share/java/zookeeper.jar"

// ZooKeeper starts a server on a free loopback port, for it knows no Unix
// sockets. Sessions may take from 200 ms to a minute.
func (l *Lab) ZooKeeper() (*ZooKeeper, error) {
	java, err := LookPath("java")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(zookeeperJar); err != nil {
		return nil, fmt.Errorf("lab: ZooKeeper is not installed: %w", err)
	}
	for range 5 { // another process may take the port first
		var z *ZooKeeper
		if z, err = l.zookeeper(java); err == nil {
			return z, nil
		}
	}
	return nil, err
}

func (l *Lab) zookeeper(java string) (*ZooKeeper, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir("zookeeper")
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("dataDir=data\nclientPortAddress=127.0.0.1\nclientPort=%d\ntickTime=100\n"+
		"maxSessionTimeout=60000\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\n", port)
	if err := os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte(config), 0o644); err != nil {
		return nil, err
	}
	z := &ZooKeeper{Address: fmt.Sprintf("127.0.0.1:%d", port)}
	z.Server, err = l.Start(Program{
		Name: "zookeeper", Path: java, Dir: dir,
		Args: []string{
			"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
			"-Dznode.container.checkIntervalMs=500",
			"-cp", zookeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg",
		},
		Ready: func(ctx context.Context) error { return serving(ctx, z.Address) },
	})
	return z, err
}

// serving asks ZooKeeper whether it serves: it listens before it does.
func serving(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	// What it accepts too early it sometimes never answers.
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && !strings.HasPrefix(string(answer), "Zookeeper version") {
		err = fmt.Errorf("answered %q", answer)
	}
	return err
}
