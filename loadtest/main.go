// Command loadtest proves and measures the service. Each of its commands starts
// a private stack of real servers and instances, puts load on it, and judges by
// the database and the replies. Run it at the root of the repository, where make
// has built bin/. Without a command it lists them.
//
// The exit status is 0 only if everything that should hold held and every control
// broke what it should.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/experiments/cluster"
	"example.com/flashsale/loadtest/experiments/demo"
	"example.com/flashsale/loadtest/experiments/faults"
	"example.com/flashsale/loadtest/experiments/generations"
	"example.com/flashsale/loadtest/experiments/linearizable"
	"example.com/flashsale/loadtest/experiments/pageview"
	"example.com/flashsale/loadtest/experiments/race"
	"example.com/flashsale/loadtest/experiments/soak"
	"example.com/flashsale/loadtest/experiments/topologies"
	"example.com/flashsale/loadtest/judge"
	"example.com/flashsale/loadtest/measurements/bench"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/schemathesis"
	"example.com/flashsale/loadtest/up"
)

// A command is one job. Settings come from the environment.
type command struct {
	name, help string
	needs      []*lab.Dependency // what it may run, and the make target of its name installs
	run        func(context.Context) error
}

var (
	servers = []*lab.Dependency{lab.MySQLServer, lab.RedisServer, lab.NginxServer}
	locks   = slices.Concat(servers, rig.LockDependencies)
)

// and returns what is needed beside some.
func and(some []*lab.Dependency, more ...*lab.Dependency) []*lab.Dependency {
	return slices.Concat(some, more)
}

var commands = []command{
	{"demo", "experiments with k6: one table, out/demo/proof.json", servers, demo.Run},
	{"jmeter", "the experiments with one user and with many users, with JMeter", and(servers, lab.JMeter), demo.RunJMeter},
	{"up", "the service in the foreground, with one coupon on sale: as shipped, or with LAB=true by hand", locks,
		up.Run},
	{"race", "two bursts side by side in the browser, live, on servers that the page chooses", locks, race.Run},
	{"judge", "all workloads to the shop of the file SHOP, or those of WORKLOADS: out/judge/report.html", nil, judge.Run},
	{"generations", "the articles' locks, each under the fault that breaks it: out/generations/generations.json",
		and(locks, lab.CCompiler), generations.Run},
	{"faults",
		"locks under faults: out/faults/faults.json; FAULTS=quick, CELL=redislock/keys-deleted, AT_RANDOM=10m, LOCK='./my-holder'",
		and(locks, lab.CCompiler, lab.NetworkTools), faults.Run},
	{"faults-docs", "docs/faults.md from out/faults/faults.json of a whole run", nil, faults.Docs},
	{"holder", "the holder of a lock that HOLDER names; faults starts it", nil, faults.Holder},
	{"pview", "666 page views at once under every lock: out/pview/pview.json", and(locks, lab.JMeter),
		pageview.Run},
	{"topologies", "claims and page views on every Redis topology, with failovers: out/topologies/topologies.json",
		servers, topologies.Run},
	{"cluster",
		"a replicated and a clustered database, with faults in mid-sale: out/cluster/cluster.json; CLUSTER=quick is shorter, CLUSTER=vitess is sharded",
		and(servers, lab.HAProxyServer, lab.NetworkTools, lab.GaleraLibrary, lab.EtcdServer, lab.CCompiler),
		cluster.Run},
	{"bench", "the headline figures of make bench beside their limits, from out/bench/bench.txt", nil, bench.Report},
	{"docs", "docs/benchmarks.md from the last whole make bench", nil, bench.Docs},
	{"soak", "SOAK=5m of mixed claims while parts are killed, suspended and partitioned: out/soak/soak.json", servers,
		soak.Run},
	{"linearizable",
		"SEEDS=12 histories under faults, each checked for linearizability: out/linearizable/linearizable.json",
		and(servers, lab.ZooKeeperServer), linearizable.Run},
	{"schemathesis",
		"the service against its OpenAPI document, with EXAMPLES=500 generated requests for each operation and phase: out/schemathesis",
		servers, schemathesis.Run},
	{"clients", "clients that claim, in a process of their own; bench and soak start it", nil, clients.Serve},
	{"serve", "a server that accepts every claim and does nothing else; bench starts it", nil, bench.ServeEmpty},
}

func main() {
	c, ok := find(os.Args[1:])
	if !ok {
		help(os.Stderr)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := inRepository(c)
	if err == nil {
		rig.Require(c.needs...)
		err = c.run(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "loadtest %s: %v\n", c.name, err)
		os.Exit(1)
	}
}

// anywhere are the commands that need no file of the repository: help, and those that
// other commands start in directories of their own.
var anywhere = []string{"help", "holder", "clients", "serve"}

// inRepository returns an error if the files of the repository are not here, and c
// needs them.
func inRepository(c command) error {
	if _, err := os.Stat(filepath.Join("deploy", "nginx")); err != nil && !slices.Contains(anywhere, c.name) {
		return errors.New("run it at the root of the repository, as make does: there is no deploy/nginx here")
	}
	return nil
}

// find returns the command that args name. No arguments mean help.
func find(args []string) (command, bool) {
	if len(args) == 0 || len(args) == 1 && args[0] == "help" {
		return command{"help", "", nil, func(context.Context) error { help(os.Stdout); return nil }}, true
	}
	for _, c := range commands {
		if len(args) == 1 && c.name == args[0] {
			return c, true
		}
	}
	return command{}, false
}

func help(w io.Writer) {
	fmt.Fprintln(w, "usage: loadtest COMMAND")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-14s%s\n", c.name, strings.Join(report.Wrap(c.help, 64), "\n"+strings.Repeat(" ", 16)))
	}
}
