// Command bench-peers compares redislock with the Redis locks that Go services
// use, and etcdlock with etcd's own mutex, each through its own interface and on
// the same server. It is a separate module so that the service does not depend on
// them.
//
//	bench-peers pairs   LOCK DURATION GOROUTINES           acquire and release, one key for each goroutine
//	bench-peers contend LOCK DURATION PROCESSES WAITERS    all waiters for one key
//	bench-peers hold    LOCK DURATION LEASES TTL           hold many locks while the library renews them, in seconds
//	bench-peers holder                              a holder for make faults: see docs/locks.md
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

// A job is what the command line says: a lock, a duration and whole numbers.
type job struct {
	locker
	lock     string
	duration time.Duration
	numbers  []int
}

var commands = map[string]struct {
	numbers int
	run     func(ctx context.Context, j job) (any, error)
}{
	"pairs":   {1, pairs},
	"contend": {2, contend},
	"wait":    {2, wait}, // one process of contend
	"hold":    {2, hold},
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
		return fmt.Errorf("usage: bench-peers pairs | contend | hold | holder …")
	}
	if args[0] == "holder" && len(args) == 1 {
		return serveHolder(ctx)
	}
	command, ok := commands[args[0]]
	if !ok || len(args) != 3+command.numbers {
		return fmt.Errorf("%v: unknown command or wrong number of arguments", args)
	}
	j, err := parse(args[1], args[2], args[3:])
	if err != nil {
		return err
	}
	if args[0] == "hold" {
		leaseTTL = time.Duration(j.numbers[1]) * time.Second
	}
	if j.locker, err = open(j.lock); err != nil {
		return err
	}
	result, err := command.run(ctx, j)
	if err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func parse(lock, duration string, numbers []string) (j job, err error) {
	j.lock = lock
	if j.duration, err = time.ParseDuration(duration); err != nil {
		return j, err
	}
	for _, number := range numbers {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return j, fmt.Errorf("%q is not a positive number", number)
		}
		j.numbers = append(j.numbers, n)
	}
	return j, nil
}
