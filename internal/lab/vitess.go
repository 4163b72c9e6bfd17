package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Vitess is a running vtgate with a sharded keyspace, flashsale, and its sequences.
type Vitess struct {
	Shards  []*MySQL  // the server of each shard, whose database has the name of the keyspace
	Tablets []*Server // the vttablet of each shard
	Gate    *Server

	lab    *Lab
	bin    string
	topo   []string // the arguments by which all find the topology
	schema string
}

// VitessShard is what a server must be to have a shard.
var VitessShard = &GroupKind{Name: "Vitess", lacks: func(version, _ string) string {
	if strings.Contains(version, "MariaDB") {
		return "Vitess needs MySQL 8.0 or later, which LAB_MYSQLD may name"
	}
	return ""
}}

// ranges are the key ranges of the shards, which are their names.
var ranges = []string{"-80", "80-"}

// StartVitess starts Vitess of the programs in bin, with two shards, and applies the vschema and
// the sequences in schema. Both are directories.
func StartVitess(l *Lab, bin, schema string) (*Vitess, error) {
	etcd, err := StartEtcd(l)
	if err != nil {
		return nil, err
	}
	v := &Vitess{lab: l, schema: schema, topo: []string{
		"--topo-implementation", "etcd2", "--topo-global-root", "/global",
		"--topo-global-server-address", etcd.Address,
	}}
	if v.bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	v.Shards, err = startEach(len(ranges), func(i int) (*MySQL, error) {
		return StartMySQL(l, "--gtid-mode=ON", "--enforce-gtid-consistency=ON", fmt.Sprintf("--server-id=%d", i+1),
			"--max-connections=1000")
	})
	if err == nil {
		err = v.define(etcd.Address)
	}
	if err == nil {
		v.Tablets, err = startEach(len(ranges), func(i int) (*Server, error) {
			return v.tablet(100+i, "flashsale", ranges[i], v.Shards[i])
		})
	}
	if err == nil {
		_, err = v.tablet(200, "sequences", "0", v.Shards[0])
	}
	if err == nil {
		err = v.startGate()
	}
	return v, err
}

// tabletUser makes the database and the account of a vttablet, which needs a password.
var tabletUser = []string{
	"CREATE DATABASE flashsale", "CREATE USER vitess IDENTIFIED BY 'vitess'", "GRANT ALL ON *.* TO vitess WITH GRANT OPTION",
}

// define makes the databases, and describes the keyspaces in the topology.
func (v *Vitess) define(etcd string) error {
	for _, m := range v.Shards {
		if err := m.exec(context.Background(), tabletUser...); err != nil {
			return err
		}
	}
	sequences, err := os.ReadFile(filepath.Join(v.schema, "sequences.sql"))
	if err != nil {
		return err
	}
	statements := strings.Split("CREATE DATABASE sequences; USE sequences; "+strings.TrimSpace(string(sequences)), ";")
	if err := v.Shards[0].exec(context.Background(), statements[:len(statements)-1]...); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"AddCellInfo", "--root", "/zone1", "--server-address", etcd, "zone1"},
		{"CreateKeyspace", "flashsale"},
		{"CreateKeyspace", "--sidecar-db-name", "_vt_sequences", "sequences"}, // two keyspaces share a server
		{"ApplyVSchema", "--vschema-file", filepath.Join(v.schema, "sequences.json"), "sequences"},
		{"ApplyVSchema", "--vschema-file", filepath.Join(v.schema, "vschema.json"), "flashsale"},
	} {
		if err := v.control(context.Background(), args...); err != nil {
			return err
		}
	}
	return nil
}

// control runs vtctldclient.
func (v *Vitess) control(ctx context.Context, args ...string) error {
	all := append(append([]string{"--server", "internal"}, v.topo...), args...)
	out, err := exec.CommandContext(ctx, filepath.Join(v.bin, "vtctldclient"), all...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("lab: vtctldclient %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// start starts a program of Vitess, which listens on loopback.
func (v *Vitess) start(name, address string, args []string, ready func(context.Context) error) (*Server, error) {
	dir, err := v.lab.Dir(name)
	if err != nil {
		return nil, err
	}
	p := Program{
		Name: name, Path: filepath.Join(v.bin, name), Dir: dir, Env: []string{"VTDATAROOT=" + dir},
		Args:    append(append([]string{"--bind-address", "127.0.0.1"}, v.topo...), args...),
		Address: address, Ready: ready,
	}
	if isRoot() { // as whom they refuse to run; in a namespace without users nobody is root
		p.Path, p.Args = "unshare", append([]string{"--user", p.Path}, p.Args...)
	}
	return v.lab.Start(p)
}

// tablet starts the vttablet of a shard whose data m has, and makes it the primary.
func (v *Vitess) tablet(id int, keyspace, shard string, m *MySQL) (*Server, error) {
	alias := fmt.Sprintf("zone1-%d", id)
	s, err := WithFreePort(func(port int) (*Server, error) {
		web, err := FreePort()
		if err != nil {
			return nil, err
		}
		args := []string{
			"--tablet-path", alias, "--tablet-hostname", "127.0.0.1",
			"--init-keyspace", keyspace, "--init-shard", shard, "--init-tablet-type", "replica",
			"--init-db-name-override", keyspace, "--port", fmt.Sprint(web),
			"--grpc-bind-address", "127.0.0.1", "--grpc-port", fmt.Sprint(port),
			"--service-map", "grpc-queryservice,grpc-tabletmanager", "--unmanaged", "--db-socket", m.socket,
			"--health-check-interval", "1s", "--queryserver-config-transaction-cap", "200",
			// what a killed vtgate has left keeps its coupons locked: 30 s otherwise
			"--queryserver-config-transaction-timeout", "5s",
		}
		for _, account := range []string{"app", "dba", "allprivs", "appdebug", "repl", "filtered"} {
			args = append(args, "--db-"+account+"-user", "vitess", "--db-"+account+"-password", "vitess")
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		return v.start("vttablet", address, args, accepts("tcp", address))
	})
	if err != nil {
		return nil, err
	}
	return s, eventually(func(ctx context.Context) error {
		return v.control(ctx, "TabletExternallyReparented", alias)
	})
}

func (v *Vitess) startGate() (err error) {
	v.Gate, err = WithFreePort(func(port int) (*Server, error) {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		return v.start("vtgate", address, []string{
			"--cell", "zone1", "--cells-to-watch", "zone1", "--tablet-types-to-wait", "PRIMARY",
			"--transaction-mode", "TWOPC", // of what spans shards
			"--mysql-server-port", fmt.Sprint(port), "--mysql-server-bind-address", "127.0.0.1",
			"--mysql-auth-server-impl", "none",
		}, func(ctx context.Context) error { return ping(ctx, gateDSN(address, "flashsale")) })
	})
	return err
}

// DSN returns the value of MYSQL_DSN for a keyspace.
func (v *Vitess) DSN(keyspace string) string { return gateDSN(v.Gate.Address, keyspace) }

func gateDSN(address, keyspace string) string {
	return fmt.Sprintf("root@tcp(%s)/%s", address, keyspace)
}
