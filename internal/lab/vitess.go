package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/errgroup"
)

// A Vitess is a running vtgate with a sharded keyspace, flashsale, and its sequences.
type Vitess struct {
	Shards []*Shard // that serve
	Gate   *Server

	VitessPlan
	lab  *Lab
	topo []string // the arguments by which all find the topology
	ctld *Server

	uids    atomic.Int64
	mu      sync.Mutex
	servers []*Server // all but the topology
}

// A VitessPlan says what StartVitess starts.
type VitessPlan struct {
	Bin, Schema string // directories: of the programs, and of the vschema and the sequences
	Shards      int
	// Replicas of each shard: a commit waits until one has it, and vtorc promotes one when the primary is dead.
	Replicas int
	// Flush is how long each flush of a server takes, if not as long as it does.
	Flush time.Duration
}

// A Shard is a range of keys, and the tablets that have its rows.
type Shard struct {
	Name    string // the range
	Tablets []*Tablet
	path    string // keyspace/name
}

// A Tablet is a vttablet.
type Tablet struct {
	*Server
	MySQL *MySQL // whose data it serves
	uid   int
}

// VitessShard is what a server must be to have a shard.
var VitessShard = &GroupKind{Name: "Vitess", lacks: func(version, _ string) string {
	if strings.Contains(version, "MariaDB") {
		return "Vitess needs MySQL 8.0 or later, which LAB_MYSQLD may name"
	}
	return ""
}}

// StartVitess starts Vitess, and applies the vschema and the sequences.
func StartVitess(l *Lab, plan VitessPlan) (*Vitess, error) {
	etcd, err := StartEtcd(l)
	if err != nil {
		return nil, err
	}
	v := &Vitess{lab: l, VitessPlan: plan, topo: []string{
		"--topo-implementation", "etcd2", "--topo-global-root", "/global",
		"--topo-global-server-address", etcd.Address,
	}}
	if v.Bin, err = filepath.Abs(plan.Bin); err == nil {
		v.ctld, err = v.startCtld()
	}
	if err == nil {
		err = v.define(etcd.Address)
	}
	if err == nil {
		v.Shards, err = v.startShards(ranges(plan.Shards))
	}
	if err == nil && plan.Replicas > 0 {
		err = v.startOrc()
	}
	if err == nil {
		err = v.startGate()
	}
	return v, err
}

// ranges returns the key ranges of n shards, which are their names.
func ranges(n int) (names []string) {
	bound := func(i int) string {
		if i == 0 || i == n {
			return ""
		}
		return fmt.Sprintf("%02x", i*256/n)
	}
	for i := range n {
		names = append(names, bound(i)+"-"+bound(i+1))
	}
	return names
}

// define describes the keyspaces in the topology, and starts the one of the sequences.
func (v *Vitess) define(etcd string) error {
	durability := "none"
	if v.Replicas > 0 {
		durability = "semi_sync"
	}
	if err := v.controlEach(
		[]string{"AddCellInfo", "--root", "/zone1", "--server-address", etcd, "zone1"},
		[]string{"CreateKeyspace", "--durability-policy", durability, "flashsale"},
		[]string{"CreateKeyspace", "sequences"},
	); err != nil {
		return err
	}
	sequences, err := os.ReadFile(filepath.Join(v.Schema, "sequences.sql"))
	if err != nil {
		return err
	}
	statements := strings.Split("USE sequences; "+strings.TrimSpace(string(sequences)), ";")
	if _, err := v.startShard("sequences", "0", 0, statements[:len(statements)-1]...); err != nil {
		return err
	}
	return v.controlEach(
		[]string{"ApplyVSchema", "--vschema-file", filepath.Join(v.Schema, "sequences.json"), "sequences"},
		[]string{"ApplyVSchema", "--vschema-file", filepath.Join(v.Schema, "vschema.json"), "flashsale"},
	)
}

// startCtld starts vtctld. Without it vtctldclient can do all but switch the traffic of a Reshard.
func (v *Vitess) startCtld() (*Server, error) {
	return WithFreePort(func(port int) (*Server, error) {
		web, err := FreePort()
		if err != nil {
			return nil, err
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		return v.start("vtctld", address, []string{
			"--port", fmt.Sprint(web), "--grpc-bind-address", "127.0.0.1", "--grpc-port", fmt.Sprint(port),
			"--service-map", "grpc-vtctld",
		}, accepts("tcp", address))
	})
}

// control runs vtctldclient and returns what it prints.
func (v *Vitess) control(ctx context.Context, args ...string) ([]byte, error) {
	all := append([]string{"--server", v.ctld.Address}, args...)
	out, err := exec.CommandContext(ctx, filepath.Join(v.Bin, "vtctldclient"), all...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("lab: vtctldclient %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

func (v *Vitess) controlEach(commands ...[]string) error {
	for _, args := range commands {
		if _, err := v.control(context.Background(), args...); err != nil {
			return err
		}
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
		Name: name, Path: filepath.Join(v.Bin, name), Dir: dir, Env: []string{"VTDATAROOT=" + dir},
		Args:    append(append([]string{"--bind-address", "127.0.0.1"}, v.topo...), args...),
		Address: address, Ready: ready,
	}
	if isRoot() { // as whom they refuse to run; in a namespace without users nobody is root
		p.Path, p.Args = "unshare", append([]string{"--user", p.Path}, p.Args...)
	}
	return v.started(v.lab.Start(p))
}

// started notes a server that Kill ends.
func (v *Vitess) started(s *Server, err error) (*Server, error) {
	if err == nil {
		v.mu.Lock()
		v.servers = append(v.servers, s)
		v.mu.Unlock()
	}
	return s, err
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

// Reparent makes a tablet of s its primary, while all of them run.
func (v *Vitess) Reparent(ctx context.Context, s *Shard, to *Tablet) error {
	_, err := v.control(ctx, "PlannedReparentShard", s.path, "--new-primary", to.alias())
	return err
}

// Primary returns the tablet that is the primary of s, as the topology has it.
func (v *Vitess) Primary(ctx context.Context, s *Shard) (*Tablet, error) {
	out, err := v.control(ctx, "GetShard", s.path)
	if err != nil {
		return nil, err
	}
	var record struct {
		Shard struct {
			PrimaryAlias struct{ UID int } `json:"primary_alias"`
		}
	}
	if err := json.Unmarshal(out, &record); err != nil {
		return nil, fmt.Errorf("lab: shard %s: %w", s.path, err)
	}
	i := slices.IndexFunc(s.Tablets, func(t *Tablet) bool { return t.uid == record.Shard.PrimaryAlias.UID })
	if i < 0 {
		return nil, fmt.Errorf("lab: shard %s has no primary: %s", s.path, out)
	}
	return s.Tablets[i], nil
}

// copyTimeout is what two busy cores need for the tables of a sale, several times.
const copyTimeout = 5 * time.Minute

// Reshard copies all rows to twice as many shards while the old ones serve, and then makes the new
// ones serve in their place.
func (v *Vitess) Reshard(ctx context.Context) error {
	n := 2 * len(v.Shards)
	targets, err := v.startShards(ranges(n))
	if err != nil {
		return err
	}
	var sources []string
	for _, s := range v.Shards {
		sources = append(sources, s.Name)
	}
	do := func(ctx context.Context, args ...string) error {
		_, err := v.control(ctx, append([]string{
			"Reshard", "--workflow", "split", "--target-keyspace", "flashsale"}, args...)...)
		return err
	}
	err = eventually(func(ctx context.Context) error { // refused until the new tablets are ready
		err := do(ctx, "create", "--source-shards", strings.Join(sources, ","),
			"--target-shards", strings.Join(ranges(n), ","))
		if err != nil {
			return err
		}
		return expectStreams(ctx, targets)
	})
	if err == nil { // refused until all is copied
		err = within(copyTimeout, func(ctx context.Context) error { return do(ctx, "switchtraffic") })
	}
	if err == nil {
		v.Shards, err = targets, do(ctx, "complete")
	}
	return err
}

// expectStreams checks that rows are being copied to each of shards: to switch traffic to one that is
// empty is not refused.
func expectStreams(ctx context.Context, shards []*Shard) error {
	for _, s := range shards {
		var n int
		err := s.Tablets[0].MySQL.withDB(func(db *sqlx.DB) error {
			return db.GetContext(ctx, &n, "SELECT COUNT(*) FROM _vt.vreplication")
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("lab: nothing is copied to shard %s", s.path)
		}
	}
	return nil
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
	t.Server, err = WithFreePort(func(port int) (*Server, error) {
		web, err := FreePort()
		if err != nil {
			return nil, err
		}
		args := []string{
			"--tablet-path", t.alias(), "--tablet-hostname", "127.0.0.1",
			"--init-keyspace", keyspace, "--init-shard", shard, "--init-tablet-type", "replica",
			"--init-db-name-override", keyspace, "--port", fmt.Sprint(web),
			"--grpc-bind-address", "127.0.0.1", "--grpc-port", fmt.Sprint(port),
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
		if manage {
			args = append(args, "--mycnf-server-id", fmt.Sprint(t.uid), "--mycnf-socket-file", t.MySQL.socket,
				"--mycnf-mysql-port", mysqlPort)
		} else {
			args = append(args, "--unmanaged", "--db-socket", t.MySQL.socket)
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		return v.start("vttablet", address, args, accepts("tcp", address))
	})
	return t, err
}

func (t *Tablet) alias() string { return fmt.Sprintf("zone1-%d", t.uid) }

// startOrc starts vtorc, which promotes a replica when a primary is dead.
func (v *Vitess) startOrc() error {
	_, err := WithFreePort(func(port int) (*Server, error) {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		return v.start("vtorc", address, []string{
			"--cell", "zone1", "--port", fmt.Sprint(port), "--instance-poll-time", "1s",
			"--topo-information-refresh-duration", "2s", "--wait-replicas-timeout", "5s",
		}, accepts("tcp", address))
	})
	return err
}

func (v *Vitess) startGate() (err error) {
	v.Gate, err = WithFreePort(func(port int) (*Server, error) {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		return v.start("vtgate", address, []string{
			"--cell", "zone1", "--cells-to-watch", "zone1", "--tablet-types-to-wait", "PRIMARY",
			"--transaction-mode", "TWOPC", // of what spans shards
			"--enable-buffer", // what begins while another tablet becomes the primary
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

// Kill ends all of it but the topology.
func (v *Vitess) Kill() {
	for _, s := range v.servers {
		s.Kill()
	}
}
