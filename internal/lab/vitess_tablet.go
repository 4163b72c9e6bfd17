package lab

import (
	"context"
	"fmt"
	"net"
	"slices"

	"golang.org/x/sync/errgroup"
)

// A Tablet is a vttablet.
type Tablet struct {
	*Server
	MySQL *MySQL // whose data it serves
	uid   int
}

// startShards starts shards of the keyspace flashsale at once.
func (v *Vitess) startShards(names []string) ([]*Shard, error) {
	shards := make([]*Shard, len(names))
	var all errgroup.Group
	for i, name := range names {
		all.Go(func() (err error) {
			shards[i], err = v.startShard("flashsale", name, v.Replicas)
			return err
		})
	}
	return shards, all.Wait()
}

// startShard starts a primary and its replicas, each of which executes statements first.
func (v *Vitess) startShard(keyspace, name string, replicas int, statements ...string) (*Shard, error) {
	s := &Shard{Name: name, Tablets: make([]*Tablet, 1+replicas), path: keyspace + "/" + name}
	var all errgroup.Group
	for i := range s.Tablets {
		all.Go(func() (err error) {
			s.Tablets[i], err = v.startTablet(keyspace, name, replicas > 0, statements)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return s, eventually(func(ctx context.Context) error {
		if replicas == 0 {
			return v.controlEach([]string{"TabletExternallyReparented", s.Tablets[0].alias()})
		}
		return v.Reparent(ctx, s, s.Tablets[0])
	})
}

// tabletUser is the account of a vttablet, which needs a password. No replica gets these statements.
var tabletUser = []string{
	"SET sql_log_bin = 0", "CREATE USER vitess IDENTIFIED BY 'vitess'", "GRANT ALL ON *.* TO vitess WITH GRANT OPTION",
}

// startServer starts the server of a tablet.
func (v *Vitess) startServer(uid int, statements []string) (*MySQL, error) {
	var env []string
	if v.Flush > 0 {
		library, err := buildPreload(v.lab, "flush")
		if err != nil {
			return nil, err
		}
		env = []string{"LD_PRELOAD=" + library, fmt.Sprint("FLUSH_MS=", v.Flush.Milliseconds())}
	}
	args := []string{"--gtid-mode=ON", "--enforce-gtid-consistency=ON", fmt.Sprintf("--server-id=%d", uid),
		"--max-connections=1000", "--plugin-load-add=semisync_source.so;semisync_replica.so"}
	m, err := startMySQLTCP(v.lab, args, env...)
	if err != nil {
		return nil, err
	}
	_, _ = v.started(m.Server, nil)
	return m, m.exec(context.Background(), slices.Concat(tabletUser, statements)...)
}

// startTablet starts a vttablet with a server of its own, which it makes a primary or a replica
// if it is to manage that. A primary that is managed and lacks semi-sync prepares no transaction of
// several shards.
func (v *Vitess) startTablet(keyspace, shard string, manage bool, statements []string) (*Tablet, error) {
	t := &Tablet{uid: 100 + int(v.uids.Add(1))}
	var err error
	t.MySQL, err = v.startServer(t.uid, append([]string{"CREATE DATABASE " + keyspace}, statements...))
	if err != nil {
		return nil, err
	}
	_, mysqlPort, err := net.SplitHostPort(t.MySQL.Address)
	if err != nil {
		return nil, err
	}
	t.Server, err = v.start("vttablet", func(port, web string) []string {
		args := []string{
			"--tablet-path", t.alias(), "--tablet-hostname", "127.0.0.1",
			"--init-keyspace", keyspace, "--init-shard", shard, "--init-tablet-type", "replica",
			"--init-db-name-override", keyspace, "--port", web,
			"--grpc-bind-address", "127.0.0.1", "--grpc-port", port,
			"--service-map", "grpc-queryservice,grpc-tabletmanager,grpc-updatestream",
			"--health-check-interval", "1s", "--queryserver-config-transaction-cap", "200",
			// what a killed vtgate has left keeps its coupons locked: 30 s otherwise
			"--queryserver-config-transaction-timeout", "5s",
			// as does what was prepared when a tablet was killed: 15 min otherwise
			"--twopc-abandon-age", "2s",
		}
		for _, account := range []string{"app", "dba", "allprivs", "appdebug", "repl", "filtered"} {
			args = append(args, "--db-"+account+"-user", "vitess", "--db-"+account+"-password", "vitess")
		}
		if !manage {
			return append(args, "--unmanaged", "--db-socket", t.MySQL.socket)
		}
		return append(args, "--mycnf-server-id", fmt.Sprint(t.uid), "--mycnf-socket-file", t.MySQL.socket,
			"--mycnf-mysql-port", mysqlPort)
	})
	return t, err
}

func (t *Tablet) alias() string { return fmt.Sprintf("zone1-%d", t.uid) }
