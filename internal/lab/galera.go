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
)

// galeraProvider is where Debian installs the library that replicates.
const galeraProvider = "/usr/lib/galera/libgalera_smm.so"

//go:embed wsrep_sst_copy.sh
var sstScript []byte

// Galera is that of MariaDB, in which every member accepts writes.
//
// If the others no longer have all of the transactions that a restarted member has missed, it
// copies the tables of one, which commits nothing meanwhile. If no other is running, it does
// not become ready: it cannot know whether it has the last transactions.
var Galera = &GroupKind{
	Name: "Galera",
	lacks: func(version, _ string) string {
		if strings.Contains(version, "MariaDB") {
			return ""
		}
		return "the server is not MariaDB"
	},
	start: startGalera,
	joined: func(ctx context.Context, m *MySQL, n int) error {
		return errors.Join(m.expectStatus(ctx, "wsrep_cluster_size", strconv.Itoa(n)), expectSynced(ctx, m))
	},
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

// startGalera starts the i-th member. The first one starts the cluster unless it has been a
// member already.
func startGalera(l *Lab, members []member, i int, args []string) (*MySQL, error) {
	if _, err := l.path(GaleraLibrary); err != nil {
		return nil, err
	}
	p, m, err := mysqlProgram(l, append(galeraArgs(members, i), args...))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "wsrep_sst_copy"), sstScript, 0o755); err != nil {
		return nil, err
	}
	p.Address, m.synced = members[i].at(members[i].sql), "?wsrep_sync_wait=1"
	p.Env = []string{"PATH=" + p.Dir + ":" + os.Getenv("PATH")} // of the script
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
