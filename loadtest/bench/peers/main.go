// Command bench-peers measures our lock on Redis beside the ones that Go
// services use, each through its own interface and on the same server. It is a
// module of its own, so that the service never depends on them.
//
//	bench-peers pairs   LOCK GOROUTINES DURATION           acquire and release, each goroutine its own key
//	bench-peers contend LOCK PROCESSES WAITERS DURATION    all of them one key
//	bench-peers hold    LOCK LEASES TTL DURATION           renew and do nothing else
//
// REDIS_URL names the server. Each prints one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

var verbs = map[string]struct {
	args int
	run  func(ctx context.Context, args []string) (any, error)
}{
	"pairs":   {3, pairs},
	"contend": {4, contend},
	"wait":    {4, wait}, // what contend starts
	"hold":    {4, hold},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: bench-peers pairs | contend | hold …")
	}
	verb, ok := verbs[args[0]]
	if !ok || len(args) != 1+verb.args {
		return fmt.Errorf("%v: not a verb with its arguments", args)
	}
	result, err := verb.run(ctx, args[1:])
	if err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// numbers reads the whole numbers and, last, the duration of a verb.
func numbers(args []string) (ns []int, d time.Duration, err error) {
	for _, arg := range args[:len(args)-1] {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return nil, 0, fmt.Errorf("%q is not a number", arg)
		}
		ns = append(ns, n)
	}
	d, err = time.ParseDuration(args[len(args)-1])
	return ns, d, err
}
