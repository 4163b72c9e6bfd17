// Command bench-peers is a holder for make faults of the lock that HOLDER names, from a library that
// Go services use: see docs/locks.md. Its benchmarks compare redislock with the Redis locks among them.
// It is a separate module so that the service does not depend on them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 || os.Args[1] != "holder" {
		fmt.Fprintln(os.Stderr, "usage: bench-peers holder")
		os.Exit(2)
	}
	if err := serveHolder(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		os.Exit(1)
	}
}
