// Command bench-peers compares redislock with the Redis locks that Go services
// use, and etcdlock with etcd's own mutex, each through its own interface and on
// the same server. It is a separate module so that the service does not depend on
// them.
//
//	bench-peers pairs   LOCK GOROUTINES DURATION           acquire and release, one key for each goroutine
//	bench-peers contend LOCK PROCESSES WAITERS DURATION    all waiters for one key
//	bench-peers hold    LOCK LEASES TTL DURATION           hold many locks while the library renews them
//
// REDIS_URL is the server, ETCD_ADDR that of the etcd locks. Each command prints one line of JSON.
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

var commands = map[string]struct {
	args int
	run  func(ctx context.Context, args []string) (any, error)
}{
	"pairs":   {3, pairs},
	"contend": {4, contend},
	"wait":    {4, wait}, // one process of contend
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
	command, ok := commands[args[0]]
	if !ok || len(args) != 1+command.args {
		return fmt.Errorf("%v: unknown command or wrong number of arguments", args)
	}
	result, err := command.run(ctx, args[1:])
	if err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// parseArgs parses the whole numbers and the final duration of a command.
func parseArgs(args []string) (ns []int, d time.Duration, err error) {
	for _, arg := range args[:len(args)-1] {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return nil, 0, fmt.Errorf("%q is not a positive number", arg)
		}
		ns = append(ns, n)
	}
	d, err = time.ParseDuration(args[len(args)-1])
	return ns, d, err
}
