package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

// start starts a program of Vitess on a free port of loopback, and another one for its web pages.
// It is ready when it accepts connections, or as ready says.
func (v *Vitess) start(
	name string, args func(port, web string) []string, ready ...func(ctx context.Context, address string) error,
) (*Server, error) {
	return v.started(v.lab.serveTCP(nil, name, func(dir, address string) (Program, error) {
		web, err := FreePort()
		_, port, _ := strings.Cut(address, ":")
		p := Program{
			Path: filepath.Join(v.Bin, name), Env: []string{"VTDATAROOT=" + dir}, Ready: Accepts("tcp", address),
			Args: slices.Concat([]string{"--bind-address", "127.0.0.1"}, v.topo, args(port, fmt.Sprint(web))),
		}
		for _, r := range ready {
			p.Ready = func(ctx context.Context) error { return r(ctx, address) }
		}
		if isRoot() { // as whom they refuse to run; in a namespace without users nobody is root
			p.Path, p.Args = "unshare", append([]string{"--user", p.Path}, p.Args...)
		}
		return p, err
	}))
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

func (v *Vitess) startGate() (err error) {
	v.Gate, err = v.start("vtgate", func(port, _ string) []string {
		return []string{
			"--cell", "zone1", "--cells-to-watch", "zone1", "--tablet-types-to-wait", "PRIMARY",
			"--transaction-mode", "TWOPC", // of what spans shards
			"--enable-buffer", // what begins while another tablet becomes the primary
			"--mysql-server-port", port, "--mysql-server-bind-address", "127.0.0.1",
			"--mysql-auth-server-impl", "none",
		}
	}, func(ctx context.Context, address string) error { return ping(ctx, gateDSN(address, "flashsale")) })
	return err
}

// DSN returns the value of MYSQL_DSN for a keyspace.
func (v *Vitess) DSN(keyspace string) string { return gateDSN(v.Gate.Address, keyspace) }

func gateDSN(address, keyspace string) string {
	return fmt.Sprintf("root@tcp(%s)/%s", address, keyspace)
}

// Kill ends all of it but the topology.
func (v *Vitess) Kill() { killAll(v.servers) }
