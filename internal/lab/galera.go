package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// ErrNoGalera says that a server cannot replicate by Galera.
var ErrNoGalera = errors.New("the server is not MariaDB")

// HasGalera returns an error that wraps ErrNoGalera unless servers like m can form a
// cluster with Galera's library.
func (m *MySQL) HasGalera(ctx context.Context) error {
	var version string
	err := m.withDB(func(db *sqlx.DB) error { return db.GetContext(ctx, &version, "SELECT VERSION()") })
	if err == nil && !strings.Contains(version, "MariaDB") {
		err = fmt.Errorf("%w: %s", ErrNoGalera, version)
	}
	return err
}

// StartGalera starts a cluster of n nodes, each with args added to its command line,
// and returns when all are synced.
//
// A killed node that is restarted joins the others again, which send it the
// transactions that it has missed. If they no longer have all of them, it copies the
// tables of one, which commits nothing meanwhile. If no other node is running, the
// restarted one does not become ready: it cannot know whether it has the last
// transactions.
func StartGalera(l *Lab, n int, args ...string) (*Galera, error) {
	return withLocalMembers(n, func(members []member) (*Galera, error) { return startMembers(l, members, args) })
}

// StartGaleraOn is StartGalera with a node on each of hosts.
func StartGaleraOn(l *Lab, hosts []*Host, args ...string) (*Galera, error) {
	g, err := startMembers(l, membersOn(hosts), append(args, "--skip-name-resolve"))
	if err != nil {
		return nil, err
	}
	return g, g.Nodes[0].exec(context.Background(), "CREATE USER root@'%'", "GRANT ALL ON *.* TO root@'%'")
}

func startMembers(l *Lab, members []member, args []string) (*Galera, error) {
	if _, err := l.path(GaleraLibrary); err != nil {
		return nil, err
	}
	dir, err := l.Dir("galera")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "wsrep_sst_copy"), sstScript, 0o755); err != nil {
		return nil, err
	}
	g := &Galera{}
	for i := range members {
		node, err := startMember(l, dir, members, i, args)
		if err != nil {
			for _, other := range g.Nodes {
				err = fmt.Errorf("%w; another node: %s", err, other.LogTail())
			}
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

// galeraStart starts a node, the first time with one more argument. A node that was
// killed does not know its last transaction and would have to copy all tables. So
// it asks InnoDB first, as galera_recovery does in production, and the others then
// send it only what it has missed.
const galeraStart = `
if [ -e data/grastate.dat ]; then
	position=$("$0" "$@" --wsrep-recover 2>&1 | sed -n 's/.*Recovered position: *//p')
	set -- "$@" ${position:+--wsrep-start-position=$position}
else
	set -- "$@" %s
fi
exec "$0" "$@"`

// startMember starts the node of the i-th member. The first one starts the cluster
// unless it has been a member already.
func startMember(l *Lab, dir string, members []member, i int, args []string) (*MySQL, error) {
	p, m, err := mysqlProgram(l, append(galeraArgs(members, i), args...))
	if err != nil {
		return nil, err
	}
	p.Address, m.synced = members[i].at(members[i].sql), "?wsrep_sync_wait=1"
	p.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")} // of the script
	p.Ready = func(ctx context.Context) error { return expectSynced(ctx, m) }
	first := ""
	if i == 0 {
		first = "--wsrep-new-cluster"
	}
	p.Path, p.Args = "/bin/sh", append([]string{"-c", fmt.Sprintf(galeraStart, first), p.Path}, p.Args...)
	m.Server, err = l.Start(members[i].host.On(p))
	return m, err
}

// galeraArgs returns the arguments of a node. It considers another node that is
// silent for three seconds gone.
func galeraArgs(members []member, i int) []string {
	var group []string
	for _, m := range members {
		group = append(group, m.at(m.group))
	}
	m := members[i]
	options := []string{
		"gmcast.listen_addr=tcp://" + m.at(m.group), "ist.recv_addr=" + m.at(m.ist),
		"gcache.size=32M",
		"evs.keepalive_period=PT0.5S", "evs.suspect_timeout=PT3S", "evs.inactive_timeout=PT6S",
		"evs.install_timeout=PT6S",
	}
	return []string{
		"--skip-networking=0", "--bind-address=" + m.address, fmt.Sprintf("--port=%d", m.sql),
		"--wsrep-on=ON", "--wsrep-provider=" + galeraProvider, "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		"--wsrep-cluster-address=gcomm://" + strings.Join(group, ","), fmt.Sprintf("--wsrep-node-name=node%d", i+1),
		"--wsrep-node-address=" + m.address, "--wsrep-sst-method=copy", "--wsrep-provider-options=" +
			strings.Join(options, ";"),
		"--innodb-log-file-size=32M", // a joining node copies it
	}
}

// expectSynced checks that the node serves reads and writes of the cluster.
func expectSynced(ctx context.Context, node *MySQL) error {
	if err := ping(ctx, node.DSN("")); err != nil {
		return err
	}
	return node.expectStatus(ctx, "wsrep_local_state_comment", "Synced")
}

// AwaitSynced waits until all nodes are synced members of one cluster.
func (g *Galera) AwaitSynced() error {
	return eventually(func(ctx context.Context) error {
		for _, node := range g.Nodes {
			size := node.expectStatus(ctx, "wsrep_cluster_size", strconv.Itoa(len(g.Nodes)))
			if err := errors.Join(size, expectSynced(ctx, node)); err != nil {
				return err
			}
		}
		return nil
	})
}
