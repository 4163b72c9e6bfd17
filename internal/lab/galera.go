package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jmoiron/sqlx"
)

// Galera is a running MariaDB Galera cluster: a transaction that one node
// commits is committed by all, and every node accepts writes.
type Galera struct{ Nodes []*MySQL }

// galeraProvider is where Debian installs the library that replicates.
const galeraProvider = "/usr/lib/galera/libgalera_smm.so"

//go:embed wsrep_sst_copy.sh
var sstScript []byte

// Galera starts a cluster of n nodes, each with args added to its command line,
// and returns when all are synced.
//
// A killed node that is restarted joins the others again. It copies the tables of
// one of them, which commits nothing meanwhile. If no other node is running, the
// restarted one does not become ready: it cannot know whether it has the last
// transactions.
func (l *Lab) Galera(n int, args ...string) (g *Galera, err error) {
	for range 3 { // another process may have taken one of the ports
		if g, err = l.galera(n, args); err == nil {
			return g, nil
		}
	}
	return nil, err
}

func (l *Lab) galera(n int, args []string) (*Galera, error) {
	dir, err := l.Dir("galera")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "wsrep_sst_copy"), sstScript, 0o755); err != nil {
		return nil, err
	}
	var addrs []string
	for range n {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", port))
	}
	g := &Galera{}
	for i := range n {
		node, err := l.galeraNode(dir, addrs, i, args)
		if err != nil {
			g.Kill()
			return nil, err
		}
		g.Nodes = append(g.Nodes, node)
	}
	return g, nil
}

// Kill ends all nodes.
func (g *Galera) Kill() {
	for _, node := range g.Nodes {
		node.Kill()
	}
}

// galeraNode starts the i-th of the nodes that listen for each other on addrs.
// The first one starts the cluster unless it has been a member already.
func (l *Lab) galeraNode(dir string, addrs []string, i int, args []string) (*MySQL, error) {
	ist, err := FreePort()
	if err != nil {
		return nil, err
	}
	p, m, err := l.mysqlProgram(append(galeraArgs(addrs, i, ist), args...))
	if err != nil {
		return nil, err
	}
	p.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")} // of the script
	p.Ready = func(ctx context.Context) error { return expectSynced(ctx, m.DSN("")) }
	if i == 0 {
		p.Args = append([]string{"-c", `[ -e data/grastate.dat ] || set -- "$@" --wsrep-new-cluster; exec "$0" "$@"`, p.Path}, p.Args...)
		p.Path = "/bin/sh"
	}
	m.Server, err = l.Start(p)
	return m, err
}

// galeraArgs returns the arguments of a node. It considers another node that is
// silent for three seconds gone.
func galeraArgs(addrs []string, i, ist int) []string {
	options := []string{
		"gmcast.listen_addr=tcp://" + addrs[i],
		fmt.Sprintf("ist.recv_addr=127.0.0.1:%d", ist),
		"gcache.size=32M",
		"evs.keepalive_period=PT0.5S", "evs.suspect_timeout=PT3S", "evs.inactive_timeout=PT6S", "evs.install_timeout=PT6S",
	}
	return []string{
		"--wsrep-on=ON", "--wsrep-provider=" + galeraProvider, "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		"--wsrep-cluster-address=gcomm://" + strings.Join(addrs, ","), fmt.Sprintf("--wsrep-node-name=node%d", i+1),
		"--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=copy", "--wsrep-provider-options=" + strings.Join(options, ";"),
		"--innodb-log-file-size=32M", // a joining node copies it
	}
}

// expectSynced checks that the node serves reads and writes of the cluster.
func expectSynced(ctx context.Context, dsn string) error {
	if err := ping(ctx, dsn); err != nil {
		return err
	}
	db, err := sqlx.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	var state struct {
		Name  string `db:"Variable_name"`
		Value string `db:"Value"`
	}
	if err := db.GetContext(ctx, &state, "SHOW STATUS LIKE 'wsrep_local_state_comment'"); err != nil {
		return err
	}
	if state.Value != "Synced" {
		return errors.New("node is " + state.Value)
	}
	return nil
}
