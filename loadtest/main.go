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
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/experiments/cluster"
	"example.com/flashsale/loadtest/experiments/demo"
	"example.com/flashsale/loadtest/experiments/generations"
	"example.com/flashsale/loadtest/experiments/linearizable"
	"example.com/flashsale/loadtest/experiments/pageview"
	"example.com/flashsale/loadtest/experiments/race"
	"example.com/flashsale/loadtest/experiments/soak"
	"example.com/flashsale/loadtest/experiments/topologies"
	"example.com/flashsale/loadtest/load"
	"example.com/flashsale/loadtest/measurements/bench"
	"example.com/flashsale/loadtest/measurements/crowd"
	"example.com/flashsale/loadtest/pictures"
	"example.com/flashsale/loadtest/schemathesis"
	"example.com/flashsale/loadtest/up"
)

// A command is one job. Settings come from the environment.
type command struct {
	name, help string
	run        func(context.Context) error
}

var commands = []command{
	{"demo", "experiments with k6: one table, out/demo/proof.json", demo.Run},
	{"jmeter", "the experiments with one user and with many users, with JMeter; against BASE_URL if it is set",
		jmeter},
	{"up", "the service as shipped in the foreground, with one coupon on sale", up.Run},
	{"race", "two bursts side by side in the browser, live, on servers that the page chooses", race.Run},
	{"load", "k6 against BASE_URL (and JWT_SECRET, or ADMIN_TOKEN and TOKENS)", load.Run},
	{"generations", "the articles' locks, each under the fault that breaks it: out/generations/generations.json",
		generations.Run},
	{"pview", "666 page views at once under every lock: out/pview/pview.json", pageview.Run},
	{"topologies", "claims and page views on every Redis topology, with failovers: out/topologies/topologies.json",
		topologies.Run},
	{"cluster",
		"a replicated and a clustered database, with faults in mid-sale: out/cluster/cluster.json; CLUSTER=quick is shorter", cluster.Run},
	{"bench", "everything side by side: out/bench/bench.json; BENCH=quick, SECTIONS=claims,growth,…", bench.Run},
	{"compare", "bin/api beside bin/api-before, the service of another commit: out/compare/compare.json",
		bench.Compare},
	{"docs", "docs/benchmarks.md from the last full run of bench, or again from docs/benchmarks.json", bench.Docs},
	{"pictures", "the pictures of the READMEs, from a race and from docs/benchmarks.json: docs/pictures",
		pictures.Run},
	{"soak", "SOAK=5m of mixed claims while parts are killed, suspended and partitioned: out/soak/soak.json",
		soak.Run},
	{"linearizable",
		"SEEDS=12 histories under faults, each checked for linearizability: out/linearizable/linearizable.json",
		linearizable.Run},
	{"schemathesis",
		"the service against its OpenAPI document, with EXAMPLES=500 generated requests for each operation and phase: out/schemathesis", schemathesis.Run},
	{"crowd", "claims of 666 to 20,000 clients at one moment: out/crowd/crowd.json; CROWD=12000 is shorter",
		crowd.Run},
	{"clients", "clients that claim, in a process of their own; bench, crowd and soak start it", clients.Serve},
	{"serve", "one of the servers that bench compares the service to; bench starts it", bench.Serve},
}

func main() {
	c, ok := find(os.Args[1:])
	if !ok {
		help(os.Stderr)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := c.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "loadtest %s: %v\n", c.name, err)
		os.Exit(1)
	}
}

// find returns the command that args name. No arguments mean help.
func find(args []string) (command, bool) {
	if len(args) == 0 || len(args) == 1 && args[0] == "help" {
		return command{"help", "", func(context.Context) error { help(os.Stdout); return nil }}, true
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
		fmt.Fprintf(w, "  %-16s %s\n", c.name, c.help)
	}
}

func jmeter(ctx context.Context) error {
	if os.Getenv("BASE_URL") != "" {
		return load.RunJMeter(ctx)
	}
	return demo.RunJMeter(ctx)
}
