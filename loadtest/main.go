// Command loadtest is the rig around the service: it starts a private stack
// (database, Redis, two instances, nginx), sends simultaneous claims with k6
// or JMeter, and asks the database whether the promises held.
//
//	loadtest demo      the experiments, one table, out/demo/proof.json
//	loadtest jmeter    the one-user and many-users experiments by JMeter
//	loadtest up        the stack in the foreground, with a coupon on sale
//	loadtest load      k6 against BASE_URL, audited through REST
//
// It runs at the root of the repository, where make has built bin/. It exits 0
// only if every promise held where it should and every control broke where it
// should.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var verbs = map[string]func(context.Context) error{
	"demo": demo, "jmeter": demoJMeter, "up": up, "load": load,
}

// errNotProven is what a run ends with that printed a failed verdict.
var errNotProven = errors.New("not proven: see the rows that say NO")

func main() {
	if len(os.Args) != 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: loadtest demo | jmeter | up | load")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := verbs[os.Args[1]](ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadtest:", err)
		os.Exit(1)
	}
}
